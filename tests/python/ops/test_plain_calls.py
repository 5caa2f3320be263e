"""Functional operators that go straight to their kernel are the launches that torch derives."""

import math
from collections.abc import Callable

import pytest
import torch
from against_cpu import DEVICE, check
from device_type import DEVICE_TYPE
from torch import Tensor

PAIRS = [torch.add, torch.sub, torch.mul, torch.div]


def softmax_into(x: Tensor, out: Tensor) -> Tensor:
    return torch.softmax(x, -1, out=out)


def same_kernel(plain: Callable[[], Tensor], given: list[Callable[[], Tensor]]) -> None:
    result = plain().cpu()
    kernels = torch.neuron_sim.kernel_cache_info().misses
    for other in given:
        assert torch.equal(result, other().cpu())
    assert torch.neuron_sim.kernel_cache_info().misses == kernels


@pytest.mark.parametrize("function", PAIRS)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2, 1, 3), (64,)])
@pytest.mark.parametrize("same", [False, True])
def test_a_new_result_of_two_tensors_is_the_launch_of_a_given_one(function, shape, same):
    first, out = torch.randn((2, *shape)).to(DEVICE)  # which share their storage
    second = first if same else torch.randn(shape).to(DEVICE)
    same_kernel(
        lambda: function(first, second),
        [
            lambda: function(first, second, out=torch.empty_like(first)),
            lambda: function(first, second, out=out),
        ],
    )
    assert torch.equal(function(first, second).cpu(), function(first.cpu(), second.cpu()))


TABLE = [
    torch.exp, torch.lgamma, torch.isposinf, torch.logical_not,
    torch.maximum, torch.eq, torch.atan2, torch.fmax, torch.clamp_min, torch.pow, torch.lerp,
]  # fmt: skip
COUNTS = {torch.lerp: 3, **dict.fromkeys(TABLE[:4], 1)}


@pytest.mark.parametrize("function", TABLE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("same", [False, True])
def test_a_functional_form_of_the_table_is_the_launch_of_its_out_form(function, dtype, same):
    count = COUNTS.get(function, 2)
    tensors = [torch.randn(3, 5).to(DEVICE, dtype) for _ in range(count)]
    tensors[0][0, :3] = torch.tensor([math.nan, math.inf, -0.0])
    if same:
        tensors[1:] = [tensors[0]] * (count - 1)
    result = function(*tensors)
    out = torch.empty_like(result)
    same_kernel(
        lambda: function(*tensors).nan_to_num(7.0),
        [lambda: function(*tensors, out=out).nan_to_num(7.0)],
    )


@pytest.mark.parametrize("function", TABLE)
def test_a_functional_form_takes_what_is_not_plain_as_torch_does(function):
    count = COUNTS.get(function, 2)
    cases = [torch.randn(4, 6)[:, ::2], torch.randn(3, 4).t(), torch.zeros(0, 3), torch.randn(())]
    for first in cases:
        check(function, *[first + step for step in range(count)])
    if count == 2:
        check(function, torch.randn(3, 1), torch.randn(4))
        check(function, torch.randn(3), torch.randint(1, 4, (3,)))
        check(function, torch.randn(3, dtype=torch.float16), torch.randn(3))


def test_a_functional_form_stays_on_the_device_of_its_tensors():
    x = torch.randn(7)
    result = torch.exp(x.to(f"{DEVICE_TYPE}:1"))
    assert result.device == torch.device(f"{DEVICE_TYPE}:1")
    torch.testing.assert_close(result.cpu(), x.exp())


def test_a_new_product_of_matrices_is_the_launch_of_a_given_one():
    a, b = torch.randn(5, 7).to(DEVICE), torch.randn(3, 7).to(DEVICE).t()
    same_kernel(lambda: a @ b, [lambda: torch.mm(a, b, out=torch.empty(5, 3, device=DEVICE))])


def test_a_new_softmax_is_the_launch_of_a_given_one():
    x = torch.randn(5, 7).to(DEVICE)
    same_kernel(lambda: x.softmax(-1), [lambda: softmax_into(x, torch.empty_like(x))])


@pytest.mark.parametrize("function", [torch.add, torch.sub])
def test_a_factor_is_a_number_of_any_kind_but_bool_and_complex(function):
    a, b = torch.randn(9), torch.randn(9)
    for alpha in (1, 2, -0.5, math.nan, math.inf):
        check(lambda x, y, alpha=alpha: function(x, y, alpha=alpha), a, b)
    for alpha, reason in ((True, "Boolean alpha"), (1j, "complex")):
        with pytest.raises(RuntimeError, match=reason):
            function(a.to(DEVICE), b.to(DEVICE), alpha=alpha)


def test_arguments_that_do_not_fit_have_the_errors_of_torch():
    x = torch.ones(3, 4, device=DEVICE)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch.mm(x, x)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.softmax(2)
    with pytest.raises(RuntimeError, match="must match the size"):
        torch.add(x, x.t())
    with pytest.raises(RuntimeError, match="same device"):
        torch.mul(x, x.to(f"{DEVICE_TYPE}:0"))


@pytest.mark.parametrize(("call", "operator"), [
    (lambda x: x + x, "aten::add"),
    (lambda x: x @ x, "aten::mm"),
    (lambda x: x.softmax(0), "aten::_softmax"),
])  # fmt: skip
def test_a_recorded_call_has_the_time_of_one_that_nothing_follows(call, operator):
    x = torch.randn(5, 5, device=DEVICE)
    before = torch.neuron_sim.simulated_time(DEVICE)
    call(x)
    unrecorded = torch.neuron_sim.simulated_time(DEVICE) - before
    with torch.neuron_sim.record_launches() as launches:
        call(x)
    (launch,) = launches
    assert launch.latency_us == pytest.approx(unrecorded * 1e6)
    assert launch.operator == operator
