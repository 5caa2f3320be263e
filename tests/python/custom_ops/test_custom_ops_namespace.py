"""Every operator of torch.ops.neuron_sim has a sample here: kernels for all places, opcheck, and
gradients (or the values of its own backward operator) against autograd in float64 on the CPU.

A new operator without a sample fails the first test.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import neuron_sim.torch_device as device_module
import pytest
import torch
from custom_ops_oracle import OPS, activate, values
from device_type import DEVICE_TYPE
from torch.nn import functional
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = f"{DEVICE_TYPE}:1"
# PyTorch implements the check of the registration of gradients for CPU, CUDA and XPU only.
DEVICE_CHECKS = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")


@dataclass
class Sample:
    """A call, and what it computes out of PyTorch's own operators."""

    arguments: tuple[Any, ...]
    composition: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)
    differentiable: bool = True

    def placed(self, place, dtype=None, gradients=False):
        """The arguments on `place`, tensors as leaves of their own."""

        def move(x):
            if not isinstance(x, torch.Tensor):
                return x
            moved = x.to(dtype or x.dtype).to(place).detach().clone()
            return moved.requires_grad_(gradients)

        return tree_map(move, self.arguments)


def tensor(*shape, seed=1):
    return values(shape, torch.float32, seed)


def layers(x, weights, biases, hidden, output):
    for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        x = activate(x @ weight + bias, output if i == len(weights) - 1 else hidden)
    return x


def pooled(x, weight, bias):
    sums = functional.conv2d(x, weight, bias, padding=1)
    return functional.max_pool2d(torch.tanh(sums), 2)


def gradients_of(function):
    """The backward operator of `function`: gradients of its operands for that of its result."""

    def backward(gradient, *operands):
        tensors = [x for x in operands if isinstance(x, torch.Tensor)]
        leaves = [x.detach().requires_grad_() for x in tensors]
        return torch.autograd.grad(function(*leaves), leaves, gradient)

    return backward


IMAGES = (tensor(2, 3, 8, 6), tensor(4, 3, 3, 3, seed=2), tensor(4, seed=3))
NETWORK = (tensor(5, 3), [tensor(3, 6, seed=2), tensor(6, 4, seed=3)], [tensor(6), tensor(4)])
SAMPLES = {
    "vector_add": Sample((tensor(3, 1, 5), tensor(4, 5, seed=2)), torch.add),
    "matmul": Sample((tensor(7, 5), tensor(5, 9, seed=2)), torch.matmul),
    "transpose": Sample((tensor(7, 5),), torch.t, {"engine": "tensor"}),
    "rms_norm": Sample((tensor(3, 4, 5), tensor(5, seed=2)),
        lambda x, w: functional.rms_norm(x, (5,), w, 0.125), {"eps": 0.125}),
    "bias_add_activation": Sample((tensor(3, 4, 5), tensor(5, seed=2), "gelu"),
        lambda x, b, _: functional.gelu(x + b)),
    "bias_add_activation_backward": Sample(
        (tensor(3, 5, seed=4), tensor(3, 5), tensor(5, seed=2), "gelu"),
        gradients_of(lambda x, b: functional.gelu(x + b)), differentiable=False),
    "conv2d_maxpool": Sample((*IMAGES, 2), lambda x, w, b, _: pooled(x, w, b),
        {"padding": 1, "activation": "tanh"}),
    "conv2d_maxpool_backward": Sample((tensor(2, 4, 4, 3, seed=5), *IMAGES, 2),
        gradients_of(pooled), {"padding": 1, "activation": "tanh"}, differentiable=False),
    "ffnn_forward": Sample(NETWORK, lambda x, w, b: layers(x, w, b, "tanh", "softmax"),
        {"hidden_activation": "tanh"}),
    "ffnn_predict": Sample(NETWORK, lambda x, w, b: layers(x, w, b, "tanh", "softmax").argmax(1),
        {"hidden_activation": "tanh"}, differentiable=False),
}  # fmt: skip
NAMES = pytest.mark.parametrize("name", SAMPLES)


def operator(name):
    return getattr(OPS, name).default


def close(found, expected):
    for ours, theirs in zip(tree_leaves(found), tree_leaves(expected), strict=True):
        torch.testing.assert_close(
            ours.detach().cpu().double(), theirs.detach().double(), rtol=1e-4, atol=1e-5
        )


def test_every_operator_of_the_namespace_has_a_sample():
    names = torch._C._dispatch_get_all_op_names()
    found = {name.split("::")[1] for name in names if name.startswith("neuron_sim::")}
    assert found == set(SAMPLES)


@NAMES
@pytest.mark.parametrize("key", ["PrivateUse1", "CPU", "Meta", "Autograd"])
def test_every_operator_has_a_kernel_for_every_place_and_gradients(name, key):
    assert torch._C._dispatch_has_kernel_for_dispatch_key(f"neuron_sim::{name}", key)


@NAMES
def test_every_operator_is_compliant_with_the_compilers_of_pytorch(name):
    assert torch.Tag.pt2_compliant_tag in operator(name).tags


@NAMES
@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("place", [DEVICE, "cpu"])
def test_opcheck_finds_nothing_in_any_operator(name, place, gradients):
    sample = SAMPLES[name]
    checks = {} if place == "cpu" else {"test_utils": DEVICE_CHECKS}
    arguments = sample.placed(place, gradients=gradients and sample.differentiable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.library.opcheck(operator(name), arguments, sample.options, **checks)


@NAMES
@pytest.mark.parametrize("place", [DEVICE, "cpu"])
def test_every_operator_computes_its_composition(name, place):
    sample = SAMPLES[name]
    with device_module.strict():
        found = operator(name)(*sample.placed(place), **sample.options)
    assert all(x.device == torch.device(place) for x in tree_leaves(found))
    close(found, sample.composition(*sample.placed("cpu", torch.float64)))


@pytest.mark.parametrize("name", [name for name in SAMPLES if SAMPLES[name].differentiable])
@pytest.mark.parametrize("place", [DEVICE, "cpu"])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float16, 5e-3), (torch.bfloat16, 4e-2)])
def test_every_operator_computes_sixteen_bits(name, place, dtype, tolerance):
    sample = SAMPLES[name]
    found = operator(name)(*sample.placed(place, dtype), **sample.options)
    assert found.dtype == dtype
    rounded = tree_map(
        lambda x: x.double() if isinstance(x, torch.Tensor) else x, sample.placed("cpu", dtype)
    )
    expected = sample.composition(*rounded)
    torch.testing.assert_close(found.cpu().double(), expected, rtol=tolerance, atol=tolerance)


@NAMES
@pytest.mark.parametrize("place", [DEVICE, "cpu"])
def test_gradients_of_every_operator_are_those_of_its_composition(name, place):
    sample = SAMPLES[name]
    arguments = sample.placed(place, gradients=True)
    result = operator(name)(*arguments, **sample.options)
    if not sample.differentiable:
        return check_not_differentiable(result)
    exact = sample.placed("cpu", torch.float64, gradients=True)
    expected = sample.composition(*exact)
    incoming = tensor(*expected.shape, seed=7)
    with device_module.strict():
        result.backward(incoming.to(place))
    expected.backward(incoming.double())
    leaves = [x for x in tree_leaves(arguments) if isinstance(x, torch.Tensor)]
    exact_leaves = [x for x in tree_leaves(exact) if isinstance(x, torch.Tensor)]
    close([x.grad for x in leaves], [x.grad for x in exact_leaves])


def check_not_differentiable(result):
    """Indices need no gradient; the gradient of a gradient is refused."""
    wanting = [x for x in tree_leaves(result) if x.requires_grad]
    for x in wanting:
        with pytest.raises(RuntimeError):
            x.sum().backward()
