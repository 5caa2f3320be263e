"""torch.func over networks on the device, in strict mode, against float64 on the CPU."""

import copy

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE
from torch import nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.nn import functional

DEVICE = f"{DEVICE_TYPE}:1"


@pytest.fixture(autouse=True)
def strict_and_seeded():
    torch.manual_seed(0)
    with device_module.strict():
        yield


class Attention(nn.Module):
    """Self-attention of one head, written out."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(4, 12)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        query, key, value = self.project(self.norm(x)).chunk(3, -1)
        return (query @ key.transpose(-2, -1) / 2).softmax(-1) @ value


NETWORKS = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)), (5,)),
    "convolutions": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1), nn.GELU(), nn.AvgPool2d(2), nn.Conv2d(4, 3, 2),
            nn.Flatten(-3),
        ),
        (2, 6, 6),
    ),
    "norms": (lambda: nn.Sequential(nn.Linear(5, 6), nn.GroupNorm(2, 6), nn.SiLU()), (1, 5)),
    "attention": (Attention, (3, 4)),
    "embedding of a mask": (lambda: nn.Sequential(nn.Linear(5, 4), nn.LogSoftmax(-1)), (5,)),
}  # fmt: skip


def both(name):
    """(function of parameters and an input, parameters, input shape) here in float64 and there."""
    build, shape = NETWORKS[name]
    network = build()
    made = []
    for module in (copy.deepcopy(network).double(), copy.deepcopy(network).to(DEVICE)):
        parameters = {n: p.detach() for n, p in module.named_parameters()}

        def call(parameters, x, module=module):
            return functional_call(module, parameters, (x,))

        made.append((call, parameters))
    return made, shape


def close(found, expected, tolerance=1e-4):
    for ours, theirs in zip(leaves(found), leaves(expected), strict=True):
        assert ours.device == torch.device(DEVICE)
        torch.testing.assert_close(
            ours.detach().cpu().double(), theirs.detach(), rtol=tolerance, atol=tolerance
        )


def leaves(tree):
    return torch.utils._pytree.tree_leaves(tree)


def compare(name, transform, batch=None):
    """`transform(call, parameters, x)` on the device and in float64."""
    ((exact, here), (call, there)), shape = both(name)
    x = torch.randn(*(() if batch is None else (batch,)), *shape)
    expected = transform(exact, here, x.double())
    close(transform(call, there, x.to(DEVICE)), expected)


def loss_of(call):
    return lambda parameters, x: call(parameters, x).square().sum()


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_of_parameters(name):
    compare(name, lambda call, parameters, x: grad(loss_of(call))(parameters, x))


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_over_a_batch_that_they_do_not_know(name):
    compare(name, lambda call, parameters, x: vmap(call, in_dims=(None, 0))(parameters, x), 4)


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_of_every_sample(name):
    def per_sample(call, parameters, x):
        return vmap(grad(loss_of(call)), in_dims=(None, 0))(parameters, x)

    compare(name, per_sample, 3)


def test_gradients_of_every_sample_sum_to_that_of_the_batch():
    ((_, _), (call, parameters)), shape = both("convolutions")
    x = torch.randn(3, *shape).to(DEVICE)
    one_by_one = vmap(grad(loss_of(call)), in_dims=(None, 0))(parameters, x)
    whole = grad(lambda p, x: vmap(loss_of(call), (None, 0))(p, x).sum())(parameters, x)
    for name, gradient in whole.items():
        torch.testing.assert_close(one_by_one[name].sum(0).cpu(), gradient.cpu(), rtol=1e-4,
                                   atol=1e-4)  # fmt: skip


@pytest.mark.parametrize("name", ["perceptron", "norms", "attention"])
def test_jacobians_by_rows(name):
    compare(name, lambda call, parameters, x: jacrev(call, argnums=1)(parameters, x))


@pytest.mark.parametrize("name", ["perceptron", "attention"])
def test_jacobians_by_columns(name):
    compare(name, lambda call, parameters, x: jacfwd(call, argnums=1)(parameters, x))


def test_hessians():
    compare("perceptron", lambda call, p, x: hessian(loss_of(call), argnums=1)(p, x))


def test_products_with_a_hessian():
    def product(call, parameters, x):
        gradient = grad(loss_of(call), argnums=1)
        return jvp(lambda y: gradient(parameters, y), (x,), (torch.ones_like(x),))[1]

    compare("perceptron", product)


def test_products_with_a_jacobian_from_both_sides():
    def products(call, parameters, x):
        value, pull = vjp(lambda y: call(parameters, y), x)
        pushed = jvp(lambda y: call(parameters, y), (x,), (torch.ones_like(x),))
        return value, pull(torch.ones_like(value)), pushed

    compare("attention", products)


def test_ensembles_of_networks():
    networks = [nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2)) for _ in range(3)]
    x = torch.randn(6, 5)
    expected = torch.stack([network(x) for network in networks])
    stacked, _ = torch.func.stack_module_state([n.to(DEVICE) for n in networks])
    base = copy.deepcopy(networks[0]).to("meta")
    found = vmap(lambda p, x: functional_call(base, p, (x,)), (0, None))(stacked, x.to(DEVICE))
    torch.testing.assert_close(found.cpu(), expected.detach())


BATCHED = {
    "a product": lambda t: t @ t.t(), "a reduction": lambda t: t.var(0),
    "softmax": lambda t: t.softmax(1), "a selection": lambda t: torch.where(t > 0, t, -t),
    "sorting": lambda t: t.sort(1)[0], "the largest": lambda t: t.max(1)[0],
    "a concatenation": lambda t: torch.cat([t, t * 2], 1),
    "pooling": lambda t: functional.max_pool1d(t, 2), "a running sum": lambda t: t.cumsum(0),
    "a convolution": lambda t: functional.conv1d(t[None], t[:, None, :2], groups=4),
    "padding": lambda t: functional.pad(t, (1, 2)), "a window": lambda t: t.unfold(1, 2, 1),
    "cross entropy": lambda t: functional.cross_entropy(t, torch.arange(4, device=t.device) % 3),
}  # fmt: skip


@pytest.mark.parametrize("name", BATCHED)
def test_operators_over_a_batch_are_those_of_its_elements(name):
    x = torch.randn(3, 4, 5)
    expected = torch.stack([BATCHED[name](one) for one in x.double()])
    for dimension in (0, 1):
        there = x.to(DEVICE).movedim(0, dimension)
        close(vmap(BATCHED[name], in_dims=dimension)(there), expected)


@pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"])
def test_zeros_without_memory_are_zeros(device):
    zeros = torch._efficientzerotensor((2, 3), device=device)
    assert zeros.device == torch.device(device) and zeros._is_zerotensor()
    for found in (zeros + 0, zeros.clone(), zeros.to(f"{DEVICE_TYPE}:1"), zeros.cpu(), zeros.half(),
                  torch.ones(2, 3).to(device).copy_(zeros), zeros.expand(2, 2, 3)[0]):  # fmt: skip
        assert torch.equal(found.cpu().float(), torch.zeros(2, 3))
    x = torch.ones(2, 3).to(device)
    assert torch.equal((x * zeros).cpu(), torch.zeros(2, 3))
    assert torch.equal((x + zeros).cpu(), torch.ones(2, 3))
    assert repr(zeros).startswith("tensor(..., device='neuron_sim") or "0., 0." in repr(zeros)
