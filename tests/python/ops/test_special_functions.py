"""Gamma, error and inverse hyperbolic functions against float64, with their gradients."""

import math

import pytest
import torch
from against_cpu import DEVICE, check

SPECIAL = torch.tensor([0.0, -0.0, -1.0, -2.0, float("inf"), float("-inf"), float("nan")])


def relative(function, values, limit):
    found = function(values.to(DEVICE)).cpu().double()
    expected = function(values.double())
    assert ((found - expected).abs() <= limit * expected.abs()).all()


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_gamma_functions(name):
    function = getattr(torch, name)
    positive = torch.linspace(0.01, 40, 997).view(-1, 1)
    check(function, positive, tolerance=4e-6, gradients=name == "lgamma")
    check(function, torch.tensor([-0.3, -0.5, -1.7, -5.25, 1.0, 2.0]), tolerance=2e-5,
          gradients=name == "lgamma")  # fmt: skip
    relative(function, torch.tensor([1e-20, 1e-5, 1e3, 1e6, 1e30]), 1e-6)
    check(function, torch.empty(3, 0), gradients=False)


def test_gamma_functions_at_poles_and_infinities():
    check(torch.lgamma, SPECIAL, gradients=False)
    found, expected = torch.digamma(SPECIAL[:4].to(DEVICE)).cpu(), torch.digamma(SPECIAL[:4])
    assert torch.equal(found.nan_to_num(7, 8, 9), expected.nan_to_num(7, 8, 9))


def test_the_complementary_error_function_keeps_its_tail():
    check(torch.erfc, torch.linspace(-4, 4, 501)[::2])
    relative(torch.erfc, torch.linspace(0, 9, 200), 1e-5)
    check(torch.erfc, SPECIAL[4:], gradients=False)


def test_the_inverse_of_the_error_function():
    check(torch.erfinv, torch.linspace(-0.99, 0.99, 401), tolerance=2e-5)
    check(torch.erfinv, torch.tensor([1.0, -1.0, 1.5, -2.0, float("nan"), 0.0]), gradients=False)


@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfc", "erfinv"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_reduced_precisions_are_rounded_once(name, dtype):
    x = torch.linspace(0.05, 0.95, 61).to(dtype)
    found = getattr(torch, name)(x.to(DEVICE))
    assert found.dtype == dtype
    exact = getattr(torch, name)(x.double())
    step = torch.finfo(dtype).eps
    assert ((found.cpu().double() - exact).abs() <= step * exact.abs() + 1e-5).all()


def test_integers_become_floating_numbers():
    check(torch.lgamma, torch.arange(1, 9, dtype=torch.int32), gradients=False)


def test_the_inverse_hyperbolic_tangent_keeps_its_digits_near_both_ends():
    x = torch.cat([torch.linspace(0.99, 0.9999999, 4001), torch.tensor([0.0, 1e-30, 1e-3, 1.0])])
    for sign in (1.0, -1.0):
        check(torch.atanh, sign * x, tolerance=1.3e-6, gradients=False)
    assert torch.atanh(torch.tensor(-0.0, device=DEVICE)).signbit()
    assert torch.atanh(torch.tensor([1.5, -2.0, math.nan], device=DEVICE)).isnan().all()


def test_the_spherical_bessel_function_of_order_zero():
    function = torch.special.spherical_bessel_j0
    check(function, torch.linspace(-30, 30, 601), gradients=False)
    relative(function, torch.tensor([0.0, 1e-30, 1e-3, 0.49, 0.5, 0.51, -0.5]), 1e-6)
    check(function, SPECIAL, gradients=False)
    check(function, torch.arange(-3, 4, dtype=torch.int32), gradients=False)
    check(function, torch.empty(0, 3), gradients=False)
