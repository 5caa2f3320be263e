"""torch.compile(backend="neuron_sim"): outputs belong to the caller, who may write to them."""

import threading

import pytest
import torch
from compile_support import (
    assert_same,
    compiled,
    fresh_compiler,  # noqa: F401
    on_device,
    only_graph,
)
from device_type import DEVICE_TYPE
from neuron_sim.torch_compile.backend import _key

aten = torch.ops.aten


def arange(x):
    return torch.arange(4, device=x.device)


def unsafe_view_of_a_clone(x):
    return aten._unsafe_view(x.clone(), (2, 2))


def mutated(x):
    kept = x.clone()
    x.add_(1)
    return kept, x * 2


def mutated_row(x):
    kept = x.view(2, 2)[0].clone()
    x.add_(1)
    return kept, kept * 2


RETURNED = {
    "a range": lambda x: (x + 1, arange(x)),
    "ones": lambda x: (x + 1, torch.ones(4, device=x.device)),
    "a view of a range": lambda x: (x + 1, arange(x).view(2, 2)),
    "a range and its view": lambda x: (arange(x), arange(x).view(2, 2)[1], x + 1),
    "a comparison of a range": lambda x: (x * arange(x), arange(x) > 2),
    "a range that is also read": lambda x: (arange(x), (x + arange(x)).sin()),
    "what a range was made of": lambda x: ((arange(x) + 1) * 2, arange(x) + 1, x + 1),
    "a literal": lambda x: (x + 1, torch.tensor([1.0, 2.0, 3.0, 4.0], device=x.device)),
    "a table of the host": lambda x: (x + 1, torch.tensor([3, 1], device=x.device) * 2),
    "a single number": lambda x: (x + 1, torch.scalar_tensor(3.0, device=x.device)),
    "a range that is changed": lambda x: (arange(x).mul_(2), x + 1),
    "zeros with one row written": lambda x: (torch.zeros(2, 4, device=x.device).index_fill(
        0, torch.tensor([1], device=x.device), 5.0), x + 1),
    "nothing": lambda x: (torch.empty(0, device=x.device), x + 1),
    "a clone": lambda x: (x.clone(), x.detach()),
    "an _unsafe_view of a clone": lambda x: (unsafe_view_of_a_clone(x),),
    "a view of an _unsafe_view of a clone": lambda x: (unsafe_view_of_a_clone(x).t()[0],),
    "pieces of a clone": lambda x: tuple(x.clone().split(2)),
    "a clone in another order": lambda x: (x.clone().reshape(2, 2).t(),),
    "a clone before its source changes": mutated,
    "a clone of a view before its source changes": mutated_row,
    "contiguous": lambda x: (x.view(2, 2).contiguous().view(-1),),
    "a value and its views": lambda x: ((y := x + 1), y[1:], y.view(2, 2)),
    "inputs and their views": lambda x: (x, x[1:], x.view(2, 2)),
    "a value twice": lambda x: ((y := x * 3), y),
    "dropout without training": lambda x: (torch.nn.functional.dropout(x, 0.5, False) + 0, x + 1),
    "a sum of nothing": lambda x: (x[:0].sum(), x + 1),
    "expanded": lambda x: (x.expand(3, 4).clone(), x + 1),
}  # fmt: skip


def write(tensor):
    if tensor.dtype == torch.bool:
        tensor.logical_not_()
    else:
        tensor.add_(5)


@pytest.mark.parametrize("function", RETURNED.values(), ids=RETURNED)
def test_what_is_written_to_an_output_is_in_no_other_run(function):
    run = compiled(function)
    first = on_device(4, device=f"{DEVICE_TYPE}:1")
    for turn in range(4):
        here, there = first * turn + 1, first * turn + 1
        expected, found = function(here), run(there)
        for ours, theirs in zip(found, expected, strict=True):
            assert_same(ours, theirs)
            write(ours), write(theirs)
        for ours, theirs in zip((*found, there), (*expected, here), strict=True):
            assert_same(ours, theirs)  # outputs share memory as they do without torch.compile


def test_outputs_of_earlier_runs_stay_as_they_are():
    run = compiled(lambda x: (x * 2, arange(x)))
    x = on_device(4)
    runs = [run(x * turn) for turn in range(4)]
    for turn, (doubled, counted) in enumerate(runs):
        assert_same(doubled, x * turn * 2)
        assert counted.tolist() == [0, 1, 2, 3]
    assert len({counted.data_ptr() for _, counted in runs}) == 4


def test_an_output_on_the_host_leaves_the_graph_to_its_operators():
    def function(x):
        x.add_(1)
        return x * 2, torch.ones(3)

    run = compiled(function)
    here, there = on_device(4), on_device(4)
    with pytest.warns(UserWarning, match="one of its outputs is on cpu"):
        runs = [run(there) for _ in range(3)]
    for found in runs:
        expected = function(here)
        assert_same(found[0], expected[0])
        assert found[1].tolist() == [1, 1, 1]
        found[1].add_(1)
    assert_same(there, here)


@pytest.mark.filterwarnings("ignore:graph of kind")
def test_random_numbers_of_the_host_are_drawn_in_each_run():
    run = compiled(lambda x: x + torch.rand(64).to(x.device))
    x = torch.zeros(64, device=DEVICE_TYPE)
    assert not torch.equal(run(x).cpu(), run(x).cpu())
    torch.manual_seed(4)
    found = [run(x).cpu() for _ in range(2)]
    torch.manual_seed(4)
    assert all(torch.equal(one, torch.rand(64)) for one in found)


def test_the_source_of_random_numbers_is_that_of_the_run():
    run = compiled(lambda x: x + torch.rand(64, device=x.device))
    x = torch.zeros(64, device=DEVICE_TYPE)
    found = {}
    try:
        for source in ("host", "chip", "host", "chip"):
            torch.neuron_sim.set_random_source(source)
            torch.manual_seed(4)
            found.setdefault(source, []).append(run(x).cpu())
    finally:
        torch.neuron_sim.set_random_source("host")
    torch.manual_seed(4)
    expected = torch.rand(64)
    assert all(torch.equal(one, expected) for one in found["host"])
    assert torch.equal(*found["chip"]) and not torch.equal(found["chip"][0], found["host"][0])


def test_strict_mode_changes_no_numbers_of_a_graph():
    run = compiled(lambda x: torch.nn.functional.dropout(x + torch.rand_like(x), 0.5))
    x = torch.zeros(64, device=DEVICE_TYPE)
    torch.manual_seed(4)
    expected = [run(x).cpu() for _ in range(2)]
    torch.manual_seed(4)
    with torch.neuron_sim.strict():
        found = run(x).cpu()
    assert torch.equal(found, expected[0]) and torch.equal(run(x).cpu(), expected[1])


def test_numbers_that_are_equal_but_not_the_same_need_captures_of_their_own():
    numbers = [0.0, -0.0, 1, True, 1.0, float("nan"), float("inf")]
    assert len({_key([number]) for number in numbers}) == len(numbers)
    assert _key([float("nan")]) == _key([float("nan")])


def test_threads_share_a_compiled_function():
    def function(x):
        return x * 2 + arange(x)[: x.shape[0]].sum(), arange(x)

    run = compiled(function, dynamic=False)
    inputs = [on_device(4, seed=seed) for seed in range(6)]
    expected = [function(x)[0].cpu() for x in inputs]
    run(inputs[0])
    failures = []

    def work(index):
        try:
            for _ in range(40):
                found, counted = run(inputs[index])
                assert counted.tolist() == [0, 1, 2, 3]
                counted.add_(7)
                assert torch.equal(found.cpu(), expected[index])
        except BaseException as error:  # reported by the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_constants_that_are_not_returned_are_computed_once():
    def function(x):
        return x + (arange(x) + 1).float(), arange(x)

    x = on_device(4)
    assert_same(compiled(function)(x)[0], function(x)[0])
    assert len(only_graph().host_operators) == 1
