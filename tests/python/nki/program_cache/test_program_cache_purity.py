"""The cache of programs: a kernel that may depend on more is traced at every call."""

import dataclasses
import functools
import itertools
import math
import os
import random
import sys
import time
import types

import neuron_sim.nki as nki
import numpy as np
import pytest
from cache_harness import (
    CONFIG,
    A,
    Config,
    assert_never_kept,
    counted,
    emit,
    empty_cache,  # noqa: F401 - a fixture
    helper,
)
from neuron_sim.nki.launch import program_cache

FACTOR = 3.0

COUNTER = [0]
ITERATOR = itertools.count(1)
GENERATOR = np.random.default_rng(0)


def counting(a):
    COUNTER[0] += 1
    return emit(a, float(COUNTER[0]))


def counting_globally(a):
    global FACTOR
    FACTOR = FACTOR + 0.0
    return emit(a, FACTOR)


def counting_on_itself(a):
    counting_on_itself.calls = getattr(counting_on_itself, "calls", 0) + 1
    return emit(a, 1.0)


def attribute_by_name(a):
    return emit(a, getattr(CONFIG, "off" + "set"))


def globals_by_name(a):
    return emit(a, globals()["FACTOR"])


def reads_its_globals(a):
    return emit(a, helper.__globals__["FACTOR"])


def evaluates(a):
    return emit(a, eval("FACTOR"))


def prints(a):
    print("traced")
    return emit(a, 1.0)


def defines_a_class(a):
    class Local:
        factor = FACTOR

    return emit(a, Local.factor)


def star(a, names=vars):
    return emit(a, names(CONFIG)["offset"])


def deletes_an_attribute(a):
    CONFIG.extra = 1.0
    del CONFIG.extra
    return emit(a, 1.0)


def takes_a_namespace_apart(a):
    match CONFIG:
        case Config(__dict__=names):
            return emit(a, names["offset"])


def defines_a_coroutine(a):
    async def later():
        return FACTOR

    return emit(a, 1.0)


def imports_globally(a):
    global constants
    import math as constants

    return emit(a, constants.e)


_Private__FACTOR = 2.0


class Private:
    @staticmethod
    def kernel(a):
        return emit(a, __FACTOR)  # noqa: F821 - of the module, by its full name


@functools.lru_cache
def remembered():
    return [1.0]


IMPURE = {
    "counter": counting, "global statement": counting_globally,
    "attribute of the function": counting_on_itself, "attribute by name": attribute_by_name,
    "globals()": globals_by_name, "__globals__": reads_its_globals, "eval": evaluates,
    "del of an attribute": deletes_an_attribute, "pattern": takes_a_namespace_apart,
    "async": defines_a_coroutine, "global import": imports_globally, "private": Private.kernel,
    "print": prints, "class statement": defines_a_class, "vars": star,
    "lru_cache": lambda a: emit(a, remembered()[0]),
    "next of an iterator": lambda a: emit(a, float(next(ITERATOR))),
    "random.random": lambda a: emit(a, random.random()),
    "np.random": lambda a: emit(a, np.random.rand()),
    "a generator": lambda a: emit(a, GENERATOR.random()),
    "default_rng": lambda a: emit(a, np.random.default_rng().random()),
    "time": lambda a: emit(a, time.perf_counter()),
    "files": lambda a: emit(a, float(len(open(os.devnull).read()))),
    "id": lambda a: emit(a, float(id(a) % 7)), "hash": lambda a: emit(a, float(hash("a") % 7)),
    "a module as a value": lambda a: emit(a, (lambda module: module.pi)(math)),
    "frames": lambda a: emit(a, float(sys._getframe(1).f_lineno)),
    "empty memory": lambda a: emit(a, float(np.empty(3).size)),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPURE)
def test_a_kernel_that_may_depend_on_more_is_traced_at_every_call(name):
    assert_never_kept(nki.jit(IMPURE[name]), A)


def test_attributes_that_a_module_makes_are_read_at_every_call():
    numbers = iter([1.0, 2.0, 1.0, 3.0])
    module = types.ModuleType("made")
    module.__getattr__ = lambda name: next(numbers)
    kernel = nki.jit(lambda a: emit(a, module.number))
    assert [float(kernel(A)[0, 1]) for _ in range(4)] == [1.0, 2.0, 1.0, 3.0]


def test_fields_of_a_dataclass_are_read_at_every_call():
    notes = {"factor": 2.0}

    @dataclasses.dataclass
    class Noted:
        value: float = dataclasses.field(default=1.0, metadata=notes)

    kernel = nki.jit(lambda a: emit(a, dataclasses.fields(Noted)[0].metadata["factor"]))
    for factor in (2.0, 3.0):
        notes["factor"] = factor
        assert np.array_equal(kernel(A), A * factor)


def test_a_counter_counts_every_call():
    kernel = nki.jit(counting)
    COUNTER[0] = 0
    assert [float(kernel(A)[0, 1]) for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]


def test_an_outer_variable_that_a_kernel_assigns_counts_every_call():
    calls = 0

    @nki.jit
    def kernel(a):
        nonlocal calls
        calls += 1
        return emit(a, float(calls))

    assert [float(kernel(A)[0, 1]) for _ in range(3)] == [1.0, 2.0, 3.0]


def test_a_record_of_calls_is_complete():
    seen = []

    @nki.jit
    def kernel(a):
        seen.append(a.shape)
        return emit(a, 2.0)

    for _ in range(3):
        kernel(A)
    assert seen == [(3, 4)] * 3


def test_a_state_that_comes_back_is_only_kept_when_a_call_ends_where_it_began():
    state = {"next": 0}

    @nki.jit
    def kernel(a):
        state["next"] = (state["next"] + 1) % 2
        return emit(a, float(state["next"]))

    assert [float(kernel(A)[0, 1]) for _ in range(6)] == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]


def test_an_argument_that_a_kernel_changes_is_changed_at_every_call():
    @nki.jit
    def kernel(a, config):
        config.offset += 1.0
        return emit(a, config.offset)

    config = Config(0.0)
    assert [float(kernel(A, config)[0, 1]) for _ in range(3)] == [1.0, 2.0, 3.0]
    for _ in range(2):
        config = Config(0.0)
        kernel(A, config)
        assert config.offset == 1.0


def test_a_kernel_that_fails_fails_again():
    kernel = nki.jit(lambda a: emit(a, undefined))  # noqa: F821
    for _ in range(2):
        with pytest.raises(NameError):
            kernel(A)


def test_a_result_that_is_no_tensor_and_can_change_is_not_shared():
    class Note:
        pass

    kernel = nki.jit(lambda a: (emit(a, 2.0), Note()))
    first, second = kernel(A)[1], kernel(A)[1]
    assert first is not second


def test_nothing_is_kept_while_a_tracer_watches():
    kernel = nki.jit(emit)
    kernel(A, 2.0)
    sys.settrace(lambda *event: None)
    try:
        counts, _ = counted(kernel, A, 2.0)
    finally:
        sys.settrace(None)
    assert counts == (0, 0, 0)


def test_the_oldest_programs_are_forgotten(monkeypatch):
    monkeypatch.setattr(program_cache, "_CAPACITY", 2)
    kernel = nki.jit(emit)
    kernel(A, 0.0)  # after the change of the module above
    for factor in (1.0, 2.0, 1.0, 3.0):
        kernel(A, factor)
    assert counted(kernel, A, 1.0)[0] == (1, 0, 0)
    assert counted(kernel, A, 2.0)[0] == (0, 1, 0)
