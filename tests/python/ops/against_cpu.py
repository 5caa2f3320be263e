"""Compares a function on the device with the same function on the CPU."""

from collections.abc import Callable

import torch
from device_type import DEVICE_TYPE

DEVICE = f"{DEVICE_TYPE}:1"


def check(
    function: Callable[..., torch.Tensor],
    *inputs: torch.Tensor,
    tolerance: float = 1e-5,
    gradients: bool = True,
) -> torch.Tensor:
    """The result of `function` has the CPU's dtype, shape and values (in float64 where it can), and
    so have the gradients of floating inputs. Returns the device's result."""
    device = [_leaf(x.to(DEVICE)) for x in inputs]
    result = function(*device)
    same = function(*inputs)
    assert result.dtype == same.dtype
    assert result.shape == same.shape
    assert result.device == torch.device(DEVICE)
    exact = [_leaf(x.double() if x.dtype == torch.float32 else x.clone()) for x in inputs]
    expected = function(*exact)
    _close(result, expected, tolerance)
    if gradients and expected.requires_grad and result.dtype == torch.float32:
        incoming = torch.randn(expected.shape)
        expected.backward(incoming.to(expected.dtype))
        result.backward(incoming.to(DEVICE))
        for ours, theirs in zip(device, exact, strict=True):
            assert (ours.grad is None) == (theirs.grad is None)
            if theirs.grad is not None:
                _close(ours.grad, theirs.grad, 10 * tolerance)
    return result


def _leaf(x: torch.Tensor) -> torch.Tensor:
    return x.detach().requires_grad_(x.is_floating_point())


def _close(ours: torch.Tensor | None, theirs: torch.Tensor, tolerance: float) -> None:
    assert ours is not None
    torch.testing.assert_close(
        ours.detach().cpu().double(), theirs.detach().double(), rtol=tolerance, atol=tolerance,
        equal_nan=True,
    )  # fmt: skip
