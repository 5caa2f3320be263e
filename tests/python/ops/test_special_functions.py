"""The inverse error function and the inverse hyperbolic tangent against float64."""

import math

import pytest
import torch
from against_cpu import DEVICE, check


def test_the_inverse_of_the_error_function():
    check(torch.erfinv, torch.linspace(-0.99, 0.99, 401), tolerance=2e-5)
    check(torch.erfinv, torch.tensor([1.0, -1.0, 1.5, -2.0, float("nan"), 0.0]), gradients=False)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_reduced_precisions_are_rounded_once(dtype):
    x = torch.linspace(0.05, 0.95, 61).to(dtype)
    found = torch.erfinv(x.to(DEVICE))
    assert found.dtype == dtype
    exact = torch.erfinv(x.double())
    step = torch.finfo(dtype).eps
    assert ((found.cpu().double() - exact).abs() <= step * exact.abs() + 1e-5).all()


def test_integers_become_floating_numbers():
    check(torch.erfinv, torch.arange(2, dtype=torch.int32), gradients=False)


def test_the_inverse_hyperbolic_tangent_keeps_its_digits_near_both_ends():
    x = torch.cat([torch.linspace(0.99, 0.9999999, 4001), torch.tensor([0.0, 1e-30, 1e-3, 1.0])])
    for sign in (1.0, -1.0):
        check(torch.atanh, sign * x, tolerance=1.3e-6, gradients=False)
    assert torch.atanh(torch.tensor(-0.0, device=DEVICE)).signbit()
    assert torch.atanh(torch.tensor([1.5, -2.0, math.nan], device=DEVICE)).isnan().all()
