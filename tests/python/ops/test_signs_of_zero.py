"""The sign of a zero is that of the CPU, before and after torch.compile."""

import pytest
import torch
from against_cpu import DEVICE
from device_type import DEVICE_TYPE
from torch.nn import functional

FUNCTIONS = {
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
def x(request):
    """Zeros of both signs in rows and columns of their own, and what rounds to a zero."""
    numbers = [[0.0, 0.0, 0.0], [-0.0, -0.0, -0.0], [-0.0, -0.25, 0.25], [0.0, -2.0, 2.0]]
    return torch.tensor(numbers, dtype=request.param)


def check(found, expected):
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found.float(), expected.float(), rtol=1e-2, atol=1e-3)
    assert torch.equal(found.signbit(), expected.signbit())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_zero_has_the_sign_of_the_cpus(name, x):
    check(FUNCTIONS[name](x.to(DEVICE)).cpu(), FUNCTIONS[name](x))


@pytest.mark.parametrize("name", ["round", "relu", "elu", "asinh", "sum"])
def test_a_compiled_function_keeps_signs_too(name, x):
    compiled = torch.compile(lambda value: FUNCTIONS[name](value * 1.0), backend=DEVICE_TYPE)
    check(compiled(x.to(DEVICE)).cpu(), FUNCTIONS[name](x))
