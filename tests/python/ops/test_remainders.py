"""remainder, fmod and floored division of floating numbers against float64 and the CPU."""

import pytest
import torch
from against_cpu import DEVICE, check

FUNCTIONS = {
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
}


def exact(function, *inputs):
    found = function(*(x.to(DEVICE) if isinstance(x, torch.Tensor) else x for x in inputs))
    expected = function(*inputs)
    assert found.dtype == expected.dtype
    assert torch.equal(found.cpu().nan_to_num(123), expected.nan_to_num(123))


@pytest.mark.parametrize("name", ["remainder", "fmod", "floor"])
def test_what_is_left_is_exact(name):
    function = FUNCTIONS[name]
    a, b = torch.randn(5, 101) * 1000, torch.randn(101)
    exact(function, a, b)
    exact(function, a * 1e6, b + 3)
    exact(function, torch.randn(31)[::2], torch.full((1,), 0.7))
    exact(function, torch.tensor([7.0, -7.0, 7.0, -7.0, 6.0, -6.0, 0.0]),
          torch.tensor([3.0, 3.0, -3.0, -3.0, 3.0, 3.0, 5.0]))  # fmt: skip


@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_numbers_that_are_not_finite_and_zeros(name):
    values = torch.tensor([0.0, 1.5, -2.0, float("inf"), float("-inf"), float("nan")])
    left, right = values.repeat_interleave(6), values.repeat(6)
    kept = ~(right.isinf() & left.isfinite())
    exact(FUNCTIONS[name], left[kept], right[kept])
    assert torch.fmod(values[1:3].to(DEVICE), float("inf")).cpu().tolist() == [1.5, -2.0]


@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_a_divisor_that_is_larger_leaves_the_dividend(name):
    large = [3e38, -3e38, 1e36, float("inf"), float("-inf"), 7.0, -7.0]
    left = torch.tensor([7.0, -7.0, 0.0, 1e-40, 2.5, -1e9, 6.999]).repeat_interleave(7)
    exact(FUNCTIONS[name], left, torch.tensor(large).repeat(7))
    exact(FUNCTIONS[name], torch.tensor([3e38, -3e38, 7.0]), torch.tensor([3e38, 3e38, 7.0]))


def test_large_quotients_are_exact_or_nan():
    exact(torch.fmod, torch.tensor([1e12, -3e12, 2.0**45]), torch.tensor([0.7, 0.3, 3.0]))
    exact(torch.fmod, torch.tensor([3e38, -1e35]), torch.tensor([1.7e37, 3e34]))
    assert torch.fmod(torch.tensor([1e30], device=DEVICE), 0.7).isnan().item()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_reduced_precisions_are_rounded_once(dtype):
    a, b = (torch.randn(64) * 50).to(dtype), (torch.rand(64) + 0.5).to(dtype)
    for function in (torch.remainder, torch.fmod):
        found = function(a.to(DEVICE), b.to(DEVICE))
        assert found.dtype == dtype
        assert torch.equal(found.cpu(), function(a.double(), b.double()).to(dtype))


@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_gradients(name):
    check(FUNCTIONS[name], torch.randn(3, 40) * 10, torch.rand(40) + 1)
    check(lambda t: FUNCTIONS[name](t, 0.75), torch.randn(7, 3) * 4)


def test_numbers_in_place_and_python_operators():
    x = torch.randn(4, 6) * 9
    exact(lambda t: t % 1, x)
    exact(lambda t: t // 0.5, x)
    exact(lambda t: t.clone().remainder_(2.5), x)
    exact(lambda t: t.clone().floor_divide_(2.5), x)
    exact(lambda t: torch.remainder(7.5, t), x)
    exact(
        lambda t: torch.div(torch.arange(9, device=t.device).float(), 2, rounding_mode="floor"), x
    )
    exact(lambda t: t[:0] % 3, x)


def test_floors_of_large_quotients_are_the_quotients():
    x = torch.tensor([3e38, -3e38, 1e30, 2.0**47, -(2.0**30), float("inf")])
    y = torch.tensor([-1.0, 3.0, 1e3, 1.0, 0.5, 2.0])
    expected = torch.div(x, y, rounding_mode="floor")
    found = torch.div(x.to(DEVICE), y.to(DEVICE), rounding_mode="floor").cpu()
    torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_that_partly_overlaps_an_operand_is_refused(name):
    for device in ("cpu", DEVICE):
        memory = torch.arange(1.0, 8.0).to(device)
        options = {"rounding_mode": name} if name in ("floor", "trunc") else {}
        function = torch.div if options else FUNCTIONS[name]
        with pytest.raises(RuntimeError, match="single memory location"):
            function(memory[:5], memory[:5], out=memory[1:6], **options)
        function(memory[:5], memory[:5], out=memory[:5], **options)
        assert memory.cpu()[5:].tolist() == [6.0, 7.0]
