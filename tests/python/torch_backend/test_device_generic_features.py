"""What PyTorch gives every device once its parts are there: tracing, lists of tensors, packed and
nested sequences, checks of gradients, torch.accelerator."""

import copy

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.utils import rnn

DEVICE = f"{DEVICE_TYPE}:1"


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


# Tracing


def test_fake_tensors_have_the_device_and_launch_nothing():
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()).eval()
    network.to(DEVICE)
    x = torch.randn(2, 3, 6, 6).to(DEVICE)
    expected = network(x)
    with (
        device_module.record_launches() as launches,
        FakeTensorMode(allow_non_fake_inputs=True) as mode,
    ):
        fake = network(mode.from_tensor(x))
    assert launches == []
    assert (fake.device, fake.shape, fake.dtype) == (expected.device, expected.shape, x.dtype)
    assert fake.stride() == expected.stride()


def test_graphs_of_operators_are_traced_and_run():
    def step(x, weight):
        return torch.func.grad(lambda w: (x @ w).softmax(1).square().sum())(weight)

    x, weight = torch.randn(4, 5).to(DEVICE), torch.randn(5, 3).to(DEVICE)
    for mode in ("real", "fake", "symbolic"):
        graph = make_fx(step, tracing_mode=mode)(x, weight)
        assert "aten.mm" in graph.code
        with device_module.strict():
            torch.testing.assert_close(graph(x, weight).cpu(), step(x, weight).cpu())


def test_modules_are_traced_symbolically_and_run_on_the_device():
    network = nn.Sequential(nn.Linear(3, 4), nn.GELU())
    graph = torch.fx.symbolic_trace(copy.deepcopy(network)).to(DEVICE)
    x = torch.randn(2, 3)
    torch.testing.assert_close(graph(x.to(DEVICE)).cpu(), network(x))


# Lists of tensors

FOREACH = {
    "add": lambda a, b: torch._foreach_add(a, b, alpha=0.5),
    "add a number": lambda a, b: torch._foreach_add(a, 2.0),
    "multiply by numbers": lambda a, b: torch._foreach_mul(a, [1.5, -2.0, 0.25]),
    "divide": lambda a, b: torch._foreach_div(a, b),
    "addcdiv": lambda a, b: torch._foreach_addcdiv(a, b, b, [0.5, 1.0, 2.0]),
    "addcmul": lambda a, b: torch._foreach_addcmul(a, b, b, 0.5),
    "lerp": lambda a, b: torch._foreach_lerp(a, b, 0.3),
    "norm": lambda a, b: torch._foreach_norm(a),
    "maximum": lambda a, b: torch._foreach_maximum(a, b),
    "roots": lambda a, b: torch._foreach_sqrt(torch._foreach_abs(a)),
    "powers": lambda a, b: torch._foreach_pow(b, 2.0),
    "reciprocals": lambda a, b: torch._foreach_reciprocal(b),
}


@pytest.mark.parametrize("name", FOREACH)
def test_operators_over_lists_are_those_of_their_elements(name):
    shapes = [(3, 4), (7,), ()]
    here = [[torch.rand(shape).double() + 0.5 for shape in shapes] for _ in range(2)]
    there = [[x.float().to(DEVICE) for x in tensors] for tensors in here]
    with device_module.strict():
        found = FOREACH[name](*there)
    for ours, exact in zip(found, FOREACH[name](*here), strict=True):
        torch.testing.assert_close(ours.cpu().double(), exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SGD, torch.optim.AdamW])
def test_optimizers_over_lists_and_one_by_one_are_the_same(kind):
    network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)).to(DEVICE)
    twin = copy.deepcopy(network)
    optimizers = [
        kind(network.parameters(), 0.1, weight_decay=0.01, foreach=True),
        kind(twin.parameters(), 0.1, weight_decay=0.01, foreach=False),
    ]
    x = torch.randn(5, 3).to(DEVICE)
    with device_module.strict():
        for _ in range(2):
            for module, optimizer in zip((network, twin), optimizers, strict=True):
                optimizer.zero_grad()
                module(x).square().sum().backward()
                optimizer.step()
    for ours, theirs in zip(network.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=1e-5, atol=1e-6)


# Sequences


def test_packed_sequences_move_and_run():
    layer = nn.GRU(3, 4)
    packed = rnn.pack_padded_sequence(torch.randn(5, 2, 3), torch.tensor([5, 3]))
    expected = rnn.pad_packed_sequence(layer(packed)[0])[0]
    there = packed.to(DEVICE)
    assert there.is_neuron_sim and packed.neuron_sim().data.is_neuron_sim
    with device_module.strict():
        found = rnn.pad_packed_sequence(layer.to(DEVICE)(there)[0])[0]
    torch.testing.assert_close(found.cpu(), expected)


def test_nested_sequences_compute_on_their_values():
    rows = [torch.randn(n, 4) for n in (2, 5, 3)]
    nested = torch.nested.nested_tensor([x.to(DEVICE) for x in rows], layout=torch.jagged)
    assert nested.device == torch.device(DEVICE)
    for found, row in zip((nested.sin() * 2).unbind(), rows, strict=True):
        torch.testing.assert_close(found.cpu(), row.sin() * 2)
    layer = nn.Linear(4, 3).to(DEVICE)
    for found, row in zip(layer(nested).unbind(), rows, strict=True):
        torch.testing.assert_close(found.cpu(), layer(row.to(DEVICE)).cpu())


# Gradients


def test_gradients_are_checked_by_differences_in_double_precision():
    x = torch.randn(3, 4, dtype=torch.float64).to(DEVICE).requires_grad_()
    weight = torch.randn(4, 2, dtype=torch.float64).to(DEVICE).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: (x @ w).tanh(), (x, weight))
    assert torch.autograd.gradgradcheck(lambda x, w: (x @ w).tanh(), (x, weight))


def test_hooks_and_anomaly_detection_work():
    x = torch.ones(3).to(DEVICE).requires_grad_()
    seen = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.device))
    (x * 2).sum().backward()
    assert seen == [torch.device(DEVICE)]
    with torch.autograd.detect_anomaly(check_nan=True), pytest.raises(RuntimeError, match="nan"):
        (x * 0).sqrt().sum().mul(0).backward()


def test_tensors_saved_for_backward_may_wait_on_the_host():
    x = torch.randn(4, 4).to(DEVICE).requires_grad_()
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = (x.sin() * x).sum()
    y.backward()
    host = x.detach().cpu()
    torch.testing.assert_close(x.grad.cpu(), host.cos() * host + host.sin())


def test_gradients_of_two_devices_meet():
    first = torch.randn(3).to(f"{DEVICE_TYPE}:0").requires_grad_()
    second = torch.randn(3).to(f"{DEVICE_TYPE}:1").requires_grad_()
    with device_module.strict():
        (first.to(f"{DEVICE_TYPE}:1") * second).sum().backward()
    assert torch.equal(first.grad.cpu(), second.detach().cpu())
    assert torch.equal(second.grad.cpu(), first.detach().cpu())


# torch.accelerator and defaults


def test_the_generic_interface_reports_memory_and_streams():
    torch.accelerator.empty_cache()
    before = torch.accelerator.memory_allocated(1)
    x = torch.zeros(1 << 18, device=DEVICE)
    assert torch.accelerator.memory_allocated(1) - before == 1 << 20
    assert torch.accelerator.memory_reserved(1) >= 1 << 20
    assert torch.accelerator.max_memory_allocated(1) >= torch.accelerator.memory_allocated(1)
    assert torch.accelerator.memory_stats(1)["allocated_bytes.all.current"] >= 1 << 20
    del x
    assert torch.accelerator.memory_allocated(1) == before
    torch.accelerator.reset_peak_memory_stats(1)
    torch.accelerator.set_device_index(1)
    try:
        assert torch.accelerator.current_device_index() == 1
        stream = torch.Stream(DEVICE)
        torch.accelerator.set_stream(stream)
        assert torch.accelerator.current_stream() == stream
        torch.accelerator.set_stream(device_module.default_stream(1))
    finally:
        torch.accelerator.set_device_index(0)


def test_factories_follow_the_default_device_and_their_models():
    torch.set_default_device(DEVICE)
    try:
        made = [torch.arange(3), torch.eye(2), torch.tensor([1.0]), torch.rand(2), nn.Linear(1, 1)
                .weight, torch.linspace(0, 1, 4), torch.full((2,), 7)]  # fmt: skip
    finally:
        torch.set_default_device(None)
    x = made[1]
    made += [x.new_zeros(2), x.new_tensor([1, 2]), torch.empty_like(x), torch.zeros_like(x)]
    assert all(tensor.device == torch.device(DEVICE) for tensor in made)
    assert torch.ones(1).is_cpu
