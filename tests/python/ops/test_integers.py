"""Sums and extrema of integers are exact, though the engines add and compare in fp32."""

import pytest
import torch
from against_cpu import DEVICE
from torch.nn import functional

WHOLE = [torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]


def same(function, *inputs):
    """The device's result of `function` equals the CPU's, dtype and shape too."""
    expected, found = function(*inputs), function(*(x.to(DEVICE) for x in inputs))
    for theirs, ours in zip(
        expected if isinstance(expected, tuple) else (expected,),
        found if isinstance(found, tuple) else (found,),
        strict=True,
    ):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert torch.equal(ours.cpu(), theirs)


def numbers(dtype, *shape):
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    limits = torch.iinfo(dtype)
    return torch.randint(limits.min, limits.max, shape, dtype=dtype)


@pytest.mark.parametrize("dtype", WHOLE)
def test_sums_of_integers_are_exact(dtype):
    x = numbers(dtype, 7, 33, 5)
    same(lambda t: t.sum(), x)
    same(lambda t: t.sum((0, 2)), x)
    same(lambda t: t.sum(1, keepdim=True), x)
    same(lambda t: t.transpose(0, 2)[:, ::2].sum(1), x)
    same(lambda t: t.cumsum(1), x)
    same(lambda t: t.sum(0, dtype=torch.int32), numbers(torch.int8, 4, 5))
    same(lambda t: t[:0].sum(0), x)
    same(lambda t: (t != 0).sum(-1), x)


def test_a_sum_that_fp32_no_longer_counts_is_refused():
    same(lambda t: t.sum(), torch.ones(65_793, dtype=torch.uint8))
    with pytest.raises(NotImplementedError, match="does not count sums of so many integers"):
        torch.ones(65_794, dtype=torch.int32, device=DEVICE).sum()


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
def test_extrema_of_integers_are_exact(dtype):
    x = numbers(dtype, 6, 41)
    x[2] = x[2, 0]  # the first of equal ones
    x[3, 5:9] = torch.iinfo(dtype).max
    for name in ("argmax", "argmin", "max", "min"):
        same(lambda t, name=name: getattr(t, name)(1), x)
        same(lambda t, name=name: getattr(t, name)(), x)
    same(lambda t: t.amax((0, 1), keepdim=True), x)
    same(lambda t: t.amin(0), x)


def test_neighbours_that_fp32_does_not_tell_apart():
    x = torch.tensor([[2**30 + 1, 2**30 + 2, 2**30], [-(2**31), -(2**31) + 1, -1]]).int()
    same(lambda t: t.max(1), x)
    same(lambda t: t.min(1), x)
    same(lambda t: t.max(), x)


def test_masks_are_compared_with_numbers():
    x = torch.rand(4, 9) > 0.5
    same(lambda t: t > 0, x)
    same(lambda t: t == 1, x)
    same(lambda t: t <= 0, x)


def test_integers_of_two_widths_are_joined():
    a, b = numbers(torch.int32, 3, 4), torch.randint(0, 2**40, (3, 2))
    same(lambda x, y: torch.cat([x, y], 1), a, b)
    same(lambda x, y: torch.cat([x.float(), y], 1), a, torch.randint(0, 100, (3, 2)))


def test_places_and_lengths_of_masked_text():
    ids = torch.tensor([[5, 6, 1, 1], [7, 8, 9, 1]])

    def positions(t):
        mask = t.ne(1).int()
        return (mask.cumsum(1).type_as(mask) * mask).long() + 1, mask.sum(1), mask.argmin(-1)

    same(positions, ids)
    same(lambda t: functional.one_hot(t, 10).sum(1), ids)


@pytest.mark.parametrize("mode", ["floor", "trunc"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8, torch.uint8])
def test_quotients_and_remainders_of_integers(dtype, mode):
    x, y = numbers(dtype, 300), numbers(dtype, 300)
    y[y == 0] = 3
    y[:100] = y[:100] % 7 + 1
    same(lambda a, b: torch.div(a, b, rounding_mode=mode), x, y)
    same(torch.remainder, x, y)
    same(torch.fmod, x, y)
    same(lambda a: a // 3, x)
    same(lambda a: a % 5, x)


def test_division_of_integers_by_zero_is_an_error():
    x = torch.tensor([1, 2], dtype=torch.int32, device=DEVICE)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x // torch.tensor([1, 0], dtype=torch.int32, device=DEVICE)


COMPARISONS = [torch.lt, torch.ge, torch.eq, torch.minimum, torch.maximum, torch.add]


@pytest.mark.parametrize("function", COMPARISONS)
@pytest.mark.parametrize("value", (-128, -3, -1, 0, 127))
def test_a_tensor_without_dimensions_is_cast_to_the_dtype_of_the_others(function, value):
    """int8(-3) beside uint8 is uint8(253): dtypes of one size that no common one replaces."""
    bytes_, number = torch.arange(256).to(torch.uint8), torch.tensor(value, dtype=torch.int8)
    same(function, bytes_, number)
    same(function, number, bytes_)
    same(lambda x, y: x.clone().ge_(y), bytes_, number)


def test_running_sums_of_more_integers_than_fp32_counts_are_exact():
    for dtype in (torch.int32, torch.uint8, torch.bool):
        same(lambda t: t.cumsum(0), numbers(dtype, 140_000))
        same(lambda t: t.cumsum(1), numbers(dtype, 2, 66_000))
    same(lambda t: t.cumsum(0, dtype=torch.int32), numbers(torch.int16, 70_000))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32])
def test_running_sums_of_indices_take_another_dtype(dtype):
    same(lambda t: t.cumsum(0, dtype=dtype), torch.arange(8).view(4, 2))
    same(lambda t: t.cumsum(1, dtype=dtype), torch.zeros(2, 0, dtype=torch.int64))
    same(lambda t: t.cumsum(0, dtype=dtype), torch.tensor(5))


# Shifts, as on the CPU: also of negative numbers, and by more bits than there are

AMOUNTS = [-(2**31), -33, -1, 0, 1, 5, 7, 8, 15, 16, 30, 31, 32, 33, 127, 2**31 - 1]
SHIFTS = {
    "left": (torch.bitwise_left_shift, torch.Tensor.__lshift__, torch.Tensor.__ilshift__),
    "right": (torch.bitwise_right_shift, torch.Tensor.__rshift__, torch.Tensor.__irshift__),
}


def shifted(dtype):
    """Every kind of number: 0, both signs, both limits."""
    limits = torch.iinfo(dtype)
    some = torch.randint(limits.min, limits.max, (3, 11), dtype=dtype)
    some[0, :4] = torch.tensor([0, 1, limits.min, limits.max], dtype=dtype)
    return some


def same_shift(function, *arguments):
    found = function(*(a.to(DEVICE) if isinstance(a, torch.Tensor) else a for a in arguments))
    expected = function(*(a.clone() if isinstance(a, torch.Tensor) else a for a in arguments))
    assert (found.dtype, found.device) == (expected.dtype, torch.device(DEVICE))
    assert torch.equal(found.cpu(), expected), (found, expected)


@pytest.mark.parametrize("direction", SHIFTS)
@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64], ids=str
)
def test_a_shift_gives_what_the_cpu_gives(dtype, direction):
    by_name, operator, in_place = SHIFTS[direction]
    x = shifted(dtype)
    amounts = torch.tensor(AMOUNTS).to(dtype)[:, None, None]  # of all kinds that the dtype holds
    for function in (by_name, operator):
        same_shift(function, x, amounts)
        for amount in AMOUNTS:
            same_shift(function, x, amount)
    same_shift(lambda a, b: by_name(a.t()[::2], b), x, torch.tensor(3))
    same_shift(by_name, x[:0], amounts[0])
    same_shift(in_place, x, 3)
    same_shift(in_place, x, torch.full((11,), 2, dtype=dtype))
    same_shift(lambda a: by_name(1, a), x)
    same_shift(lambda a: by_name(a, 2, out=torch.empty_like(a)), x)


def test_the_shifts_of_integers_of_at_most_32_bits_run_on_the_chip():
    x = shifted(torch.int16).to(DEVICE)
    with torch.neuron_sim.record_launches() as launches:
        _ = (x << 2) >> x
    assert [launch.name for launch in launches] == ["pointwise"] * 2


def test_an_amount_of_a_wider_dtype_widens_the_result():
    same_shift(torch.bitwise_right_shift, shifted(torch.int8), shifted(torch.int32)[0])


@pytest.mark.parametrize(
    "x", [torch.ones(3), torch.ones(3, dtype=torch.bool)], ids=["float", "bool"]
)
def test_what_has_no_bits_to_shift_is_refused_as_on_the_cpu(x):
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    for shift in (torch.Tensor.__lshift__, torch.bitwise_right_shift):
        for tensor in (x, x.to(DEVICE)):
            with pytest.raises(NotImplementedError, match="not implemented for"):
                shift(tensor, tensor)
