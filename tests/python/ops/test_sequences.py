"""Evenly spaced numbers, the identity, and the norm of weights."""

import re

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


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_a_result_of_another_size_is_resized_with_torchs_warning(dtype):
    for device in ("cpu", DEVICE):
        out = torch.zeros(2, 2, dtype=dtype, device=device)
        with pytest.warns(UserWarning, match=r"shape \[2, 2\] is 4 .* number of elements 5"):
            torch.arange(5, out=out)
        assert out.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.filterwarnings("error")
def test_an_empty_result_and_one_of_the_right_size_are_filled_without_a_warning():
    for device in ("cpu", DEVICE):
        for shape in ((0,), (2, 3)):
            out = torch.zeros(shape, device=device)
            torch.arange(6, out=out)
            assert out.flatten().tolist() == [0, 1, 2, 3, 4, 5]
            assert out.shape == (shape if out.dim() == 2 else (6,))


INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32]


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_bounds_and_steps_with_a_fraction_count_as_on_the_cpu(dtype):
    # Integers are cut after the numbers were counted: six zeros from 0.5 to 3.2 by 0.5.
    for bounds in ((0, 2.5), (0.5, 3.2, 0.5), (3.75, -1.5, -1.5), (7, 7, -1), (0, 100, 33)):
        made(lambda device, b=bounds: torch.arange(*b, dtype=dtype, device=device))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
@pytest.mark.parametrize(("bounds", "message"), [
    ((-5e30, 5e30), "invalid size, possible overflow?"),
    ((0.0, float(2**64)), "invalid size, possible overflow?"),
    ((1.175494351e-38, 3.402823466e38), "invalid size, possible overflow?"),
    ((0.0, float("inf")), "unsupported range: 0 -> inf"),
    ((0.0, 1.0, float("nan")), "step must be "),  # nonzero, finite from torch 2.15 on
    ((0.0, 1.0, 0.0), "step must be nonzero"),
])  # fmt: skip
def test_a_range_that_cannot_be_counted_is_refused_as_on_the_cpu(bounds, message, dtype):
    for device in ("cpu", DEVICE):
        with pytest.raises(RuntimeError, match=re.escape(message)):
            torch.arange(*bounds, dtype=dtype, device=device)


def test_there_is_no_range_of_bools():
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    for device in ("cpu", DEVICE):
        with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
            torch.arange(2, dtype=torch.bool, device=device)
