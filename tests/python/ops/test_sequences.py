"""Evenly spaced numbers, the identity, and the norm of weights."""

import pytest
import torch
from against_cpu import DEVICE, check
from torch import nn

FLOATS = [torch.float32, torch.bfloat16, torch.float16]


def made(function, tolerance=0.0):
    found, expected = function(device=DEVICE), function(device="cpu")
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    torch.testing.assert_close(found.cpu(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32, torch.int64, torch.bool])
def test_the_identity(dtype):
    for rows, columns in ((1, 1), (5, 3), (3, 130), (0, 4)):
        made(lambda device, n=rows, m=columns: torch.eye(n, m, dtype=dtype, device=device))
    made(lambda device: torch.eye(7, dtype=dtype, device=device))


def test_spaced_numbers():
    made(lambda device: torch.arange(5, device=device, dtype=torch.float32))
    made(lambda device: torch.arange(0.5, 7, 0.25, device=device))
    made(lambda device: torch.arange(9, -2, -3, device=device, dtype=torch.bfloat16))
    made(lambda device: torch.arange(9, -2, -3, device=device, dtype=torch.int32))
    made(lambda device: torch.arange(3, 3, device=device, dtype=torch.float32))
    for steps in (0, 1, 2, 7, 100):
        made(lambda device, n=steps: torch.linspace(-3, 5.5, n, device=device), 1e-6)
        made(lambda device, n=steps: torch.logspace(-1, 2, n, device=device), 1e-5)
    assert torch.linspace(0.1, 0.7, 9, device=DEVICE)[-1].item() == torch.tensor(0.7).item()


def test_a_step_of_the_wrong_sign_is_an_error():
    with pytest.raises(RuntimeError, match="inconsistent with step sign"):
        torch.arange(0.0, 3.0, -1.0, device=DEVICE)


@pytest.mark.parametrize("dimension", [0, 2])
def test_normed_weights_and_their_gradients(dimension):
    v, g = torch.randn(5, 3, 4), torch.rand(5 if dimension == 0 else 4) + 0.5
    shape = (-1, 1, 1) if dimension == 0 else (1, 1, -1)
    check(lambda a, b: torch._weight_norm(a, b.view(shape), dimension), v, g)
    check(lambda a, b: torch._weight_norm(a, b, 0), torch.randn(6), torch.rand(6) + 0.5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_prelu_has_a_gradient_for_its_weight(dtype):
    x, w = torch.randn(4, 3, 5).to(dtype), torch.rand(3).to(dtype)
    check(nn.functional.prelu, x, w, tolerance=1e-5 if dtype == torch.float32 else 1e-2)
    check(nn.functional.prelu, x, w[:1], tolerance=1e-5 if dtype == torch.float32 else 1e-2)
