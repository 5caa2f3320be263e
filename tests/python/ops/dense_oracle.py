"""Device operators in strict mode against torch on the CPU in float64, forward and backward."""

import pytest
import torch
from device_type import DEVICE_TYPE

FLOATS = [torch.float32, torch.bfloat16, torch.float16]
# Rounding of one result, with room for sums of a few hundred products.
TOLERANCE = {torch.float32: 4e-6, torch.bfloat16: 9e-3, torch.float16: 1.2e-3}


def on_device(tensor, device=DEVICE_TYPE):
    """A device tensor of the same values and strides."""
    extent = 1 + sum((n - 1) * step for n, step in zip(tensor.size(), tensor.stride(), strict=True))
    memory = tensor.detach().as_strided((extent if tensor.numel() else 0,), (1,)).to(device)
    return memory.as_strided(tensor.size(), tensor.stride())


def assert_same(actual, expected, dtype, factor=1):
    """Special values are equal; others differ by the rounding of the largest one."""
    assert actual.shape == expected.shape
    actual, expected = actual.detach().cpu().double(), expected.detach().double()
    finite = expected.isfinite()
    assert torch.equal(actual[~finite].nan_to_num(1, 2, 3), expected[~finite].nan_to_num(1, 2, 3))
    if finite.any():
        error = (actual - expected)[finite].abs().max()
        assert error <= factor * TOLERANCE[dtype] * max(1, expected[finite].abs().max())


def check(function, *tensors, dtype=torch.float32, backward=True, factor=1, device=DEVICE_TYPE):
    """`function` of the tensors in `dtype`, and gradients of a weighted sum of its result."""
    given = [tensor.to(dtype) if tensor.is_floating_point() else tensor for tensor in tensors]
    exact = [t.double().requires_grad_(backward) if t.is_floating_point() else t for t in given]
    expected = function(*exact)
    weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(5)).to(dtype)
    with torch.neuron_sim.strict():
        moved = [on_device(tensor, device) for tensor in given]
        for tensor in moved:
            tensor.requires_grad_(backward and tensor.is_floating_point())
        actual = function(*moved)
        if backward:
            actual.backward(weights.to(device))
    assert actual.dtype == dtype and actual.device == torch.device(moved[0].device)
    assert_same(actual, expected, dtype, factor)
    if not backward:
        return
    expected.backward(weights.double())
    for tensor, other in zip(moved, exact, strict=True):
        if other.is_floating_point():
            assert_same(tensor.grad, other.grad, dtype, 2 * factor)


def random(*sizes, seed=0):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed + sum(sizes)))


all_floats = pytest.mark.parametrize("dtype", FLOATS, ids=str)
