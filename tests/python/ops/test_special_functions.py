"""The inverse error function, the inverse hyperbolic tangent, log Gamma and its derivative against
float64; signs of zero as on the CPU, before and after torch.compile."""

import math

import pytest
import torch
from against_cpu import DEVICE, check
from device_type import DEVICE_TYPE
from torch.nn import functional


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


@pytest.mark.parametrize("function", [torch.lgamma, torch.digamma], ids=lambda f: f.__name__)
def test_log_gamma_and_its_derivative(function):
    ends = [0.5, 1.5, 3.0]  # of the ranges that are computed differently
    x = torch.cat(
        [torch.linspace(1e-3, 12, 4001), torch.logspace(-30, 30, 601), torch.tensor(ends)]
    )
    x = torch.cat([x, x.nextafter(torch.zeros(())), torch.linspace(-7.98, -0.02, 4000)])
    with torch.neuron_sim.strict():
        found = function(x.to(DEVICE)).cpu()
    torch.testing.assert_close(found.double(), function(x.double()), rtol=1.3e-6, atol=4e-6)
    edges = [0.0, -0.0, math.inf, -math.inf, math.nan, -1.0, -2.0, -3e38, 3e38, -8388609.0]
    values = torch.tensor(edges)
    torch.testing.assert_close(
        function(values.to(DEVICE)).cpu(), function(values), equal_nan=True, rtol=1e-6, atol=0
    )
    result = torch.empty(5, device=DEVICE)
    function(torch.full((5,), 4.5, device=DEVICE), out=result)
    torch.testing.assert_close(result.cpu(), function(torch.full((5,), 4.5)))


OF_ZEROS = {
    "round": torch.round, "trunc": torch.trunc, "ceil": torch.ceil, "floor": torch.floor,
    "frac": torch.frac, "fix": torch.fix, "round to hundredths": lambda x: x.round(decimals=2),
    "relu": torch.relu, "elu": functional.elu, "celu": functional.celu, "selu": functional.selu,
    "leaky_relu": functional.leaky_relu, "relu6": functional.relu6,
    "clamp": lambda x: x.clamp(min=0), "clamp between": lambda x: x.clamp(0, 1),
    "clamp to": lambda x: x.clamp(max=0), "asinh": torch.asinh, "atan": torch.atan,
    "sinh": torch.sinh, "sum": lambda x: x.sum(-1),
    "sum of columns": lambda x: x.sum(0), "mean": lambda x: x.mean(-1),
    "div trunc": lambda x: torch.div(x, 2, rounding_mode="trunc"),
    "div floor": lambda x: torch.div(x, 2, rounding_mode="floor"),
    "fmod": lambda x: torch.fmod(x, 1.0), "remainder": lambda x: torch.remainder(x, 1.0),
    "copysign": lambda x: torch.copysign(torch.ones_like(x), x),
    "atan2": lambda x: torch.atan2(torch.zeros_like(x), x),
    "atan2 of zeros": lambda x: torch.atan2(x, torch.ones_like(x)),
}  # fmt: skip


@pytest.fixture(params=[torch.float32, torch.bfloat16, torch.float16], ids=str)
def zeros(request):
    """Zeros of both signs in rows and columns of their own, and what rounds to a zero."""
    numbers = [[0.0, 0.0, 0.0], [-0.0, -0.0, -0.0], [-0.0, -0.25, 0.25], [0.0, -2.0, 2.0]]
    return torch.tensor(numbers, dtype=request.param)


def check_signs(found, expected):
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found.float(), expected.float(), rtol=1e-2, atol=1e-3)
    assert torch.equal(found.signbit(), expected.signbit())


@pytest.mark.parametrize("name", OF_ZEROS)
def test_a_zero_has_the_sign_of_the_cpus(name, zeros):
    check_signs(OF_ZEROS[name](zeros.to(DEVICE)).cpu(), OF_ZEROS[name](zeros))


@pytest.mark.parametrize("name", ["round", "relu", "elu", "asinh", "sum"])
def test_a_compiled_function_keeps_signs_too(name, zeros):
    compiled = torch.compile(lambda value: OF_ZEROS[name](value * 1.0), backend=DEVICE_TYPE)
    check_signs(compiled(zeros.to(DEVICE)).cpu(), OF_ZEROS[name](zeros))
