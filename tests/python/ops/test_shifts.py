"""Shifts of integers, as on the CPU: also of negative numbers, and by more bits than there are."""

import pytest
import torch
from against_cpu import DEVICE

AMOUNTS = [-(2**31), -33, -1, 0, 1, 5, 7, 8, 15, 16, 30, 31, 32, 33, 127, 2**31 - 1]
SHIFTS = {
    "left": (torch.bitwise_left_shift, torch.Tensor.__lshift__, torch.Tensor.__ilshift__),
    "right": (torch.bitwise_right_shift, torch.Tensor.__rshift__, torch.Tensor.__irshift__),
}


def numbers(dtype):
    """Every kind of number: 0, both signs, both limits."""
    limits = torch.iinfo(dtype)
    some = torch.randint(limits.min, limits.max, (3, 11), dtype=dtype)
    some[0, :4] = torch.tensor([0, 1, limits.min, limits.max], dtype=dtype)
    return some


def same(function, *arguments):
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
    x = numbers(dtype)
    amounts = torch.tensor(AMOUNTS).to(dtype)[:, None, None]  # of all kinds that the dtype holds
    for function in (by_name, operator):
        same(function, x, amounts)
        for amount in AMOUNTS:
            same(function, x, amount)
    same(lambda a, b: by_name(a.t()[::2], b), x, torch.tensor(3))
    same(by_name, x[:0], amounts[0])
    same(in_place, x, 3)
    same(in_place, x, torch.full((11,), 2, dtype=dtype))
    same(lambda a: by_name(1, a), x)
    same(lambda a: by_name(a, 2, out=torch.empty_like(a)), x)


def test_the_shifts_of_integers_of_at_most_32_bits_run_on_the_chip():
    x = numbers(torch.int16).to(DEVICE)
    with torch.neuron_sim.record_launches() as launches:
        _ = (x << 2) >> x
    assert [launch.name for launch in launches] == ["pointwise"] * 2


def test_an_amount_of_a_wider_dtype_widens_the_result():
    same(torch.bitwise_right_shift, numbers(torch.int8), numbers(torch.int32)[0])


@pytest.mark.parametrize(
    "x", [torch.ones(3), torch.ones(3, dtype=torch.bool)], ids=["float", "bool"]
)
def test_what_has_no_bits_to_shift_is_refused_as_on_the_cpu(x):
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    for shift in (torch.Tensor.__lshift__, torch.bitwise_right_shift):
        for tensor in (x, x.to(DEVICE)):
            with pytest.raises(NotImplementedError, match="not implemented for"):
                shift(tensor, tensor)
