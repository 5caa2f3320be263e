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
