"""Python objects whose state the body of a loop hands to its next iteration."""

import enum
import warnings

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest

A = np.random.default_rng(5).uniform(-1, 1, (4, 8, 6)).astype(np.float32)
FACTORS = np.array([2, 3, 3, 3], np.float32).reshape(4, 1, 1)
COUNTS = np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1)


def output(a):
    return nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)


class Counter:
    """An object whose attribute a kernel counts."""

    def __init__(self):
        self.count = 0

    def next(self):
        self.count += 1
        return self.count


class Slotted:
    __slots__ = ("count",)


class Mode(enum.Enum):
    FIRST = 2.0
    OTHER = 3.0


total = 0


def scaled(out, a, i, factor):
    nl.store(out[i], nl.load(a[i]) * float(factor))


def attribute(a):
    out, state = output(a), Counter()
    for i in nl.affine_range(4):
        state.count += 1
        scaled(out, a, i, state.count)
    return out


def slot(a):
    out, state = output(a), Slotted()
    state.count = 0
    for i in nl.sequential_range(4):
        state.count += 1
        scaled(out, a, i, state.count)
    return out


def method(a):
    out, state = output(a), Counter()
    advance = state.next
    for i in nl.affine_range(4):
        scaled(out, a, i, advance())
    return out


def iterator(a):
    out, numbers = output(a), iter([1, 2, 3, 4])
    for i in nl.affine_range(4):
        scaled(out, a, i, next(numbers))
    return out


def generator(a):
    out, numbers = output(a), (number + 1 for number in range(4))
    for i in nl.affine_range(4):
        scaled(out, a, i, next(numbers))
    return out


def pair(a):
    out, numbers = output(a), (1, 2)
    for i in nl.affine_range(4):
        scaled(out, a, i, numbers[0])
        numbers = (numbers[0] + 1, 0)
    return out


def numbers_in_a_set(a):
    out, numbers = output(a), set()
    for i in nl.affine_range(4):
        numbers.add(len(numbers))
        scaled(out, a, i, len(numbers))
    return out


def objects_in_a_list(a):
    out, held = output(a), []
    for i in nl.affine_range(4):
        held.append(object())
        scaled(out, a, i, len(held))
    return out


def nested_containers(a):
    out, state = output(a), {"counts": [0]}
    for i in nl.affine_range(4):
        state["counts"][0] += 1
        scaled(out, a, i, state["counts"][0])
    return out


def closure(a):
    out, count = output(a), 0

    def advance():
        nonlocal count
        count += 1
        return count

    for i in nl.affine_range(4):
        scaled(out, a, i, advance())
    return out


def attribute_of_a_function(a):
    out = output(a)

    def advance():
        advance.count += 1
        return advance.count

    advance.count = 0
    for i in nl.affine_range(4):
        scaled(out, a, i, advance())
    return out


def variable_of_the_module(a):
    global total
    total = 0
    out = output(a)
    for i in nl.affine_range(4):
        total += 1
        scaled(out, a, i, total)
    return out


def array(a):
    out, counts = output(a), np.zeros(1)
    for i in nl.affine_range(4):
        counts += 1
        scaled(out, a, i, counts[0])
    return out


def member_of_an_enumeration(a):
    out, mode = output(a), Mode.FIRST
    for i in nl.affine_range(4):
        scaled(out, a, i, mode.value)
        mode = Mode.OTHER
    return out


def tiles_under_exchanged_names(a):
    out = output(a)
    x, y = nl.full((8, 6), 2.0, dtype=a.dtype), nl.full((8, 6), 3.0, dtype=a.dtype)
    for i in nl.affine_range(4):
        nl.store(out[i], nl.load(a[i]) * x)
        x, y = y, x
    return out


@pytest.mark.parametrize(
    ("function", "name", "factors"), [(attribute, "state", COUNTS), (slot, "state", COUNTS),
        (method, "advance", COUNTS), (iterator, "numbers", COUNTS), (generator, "numbers", COUNTS),
        (pair, "numbers", COUNTS), (numbers_in_a_set, "numbers", COUNTS),
        (objects_in_a_list, "held", COUNTS), (nested_containers, "state", COUNTS),
        (closure, "advance", COUNTS), (attribute_of_a_function, "advance", COUNTS),
        (variable_of_the_module, "total", COUNTS), (array, "counts", COUNTS),
        (member_of_an_enumeration, "mode", FACTORS),
        (tiles_under_exchanged_names, "x", np.array([2, 3, 2, 3], np.float32).reshape(4, 1, 1))],
)  # fmt: skip
def test_a_loop_that_changes_an_objects_state_is_unrolled_and_a_warning_names_it(
    function, name, factors
):
    kernel = nki.jit(function)
    with pytest.warns(UserWarning, match=f"'{name}' changes from one iteration") as caught:
        result = kernel(A)
    np.testing.assert_allclose(result, A * factors, rtol=1e-6)
    assert caught[0].filename == __file__


def reads_objects_without_a_change(a):
    out, state, factors = output(a), Counter(), (2.0, [2.0], {"factor": 2.0})
    for i in nl.affine_range(4):
        assert state.count == 0 and factors[1] == [2.0]
        scaled(out, a, i, factors[2]["factor"])
    return out


elsewhere = Counter()


def counts_with_an_object_of_elsewhere(a):
    out = output(a)
    for i in nl.affine_range(4):
        elsewhere.next()
        nl.store(out[i], nl.load(a[i]) * 2.0)
    return out


def replaces_a_tile_by_a_new_one(a):
    out, tile = output(a), None
    for i in nl.affine_range(4):
        tile = nl.load(a[i])
        tile = nl.multiply(tile, 2.0)
        nl.store(out[i], tile)
    return out


@pytest.mark.parametrize("function", [
    *(reads_objects_without_a_change, replaces_a_tile_by_a_new_one),
    counts_with_an_object_of_elsewhere,
])  # fmt: skip
def test_other_loops_are_traced_once_without_a_warning(function):
    kernel = nki.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(kernel(A), A * 2)
    assert kernel.traced(A).source.instructions in (3, 4)


def test_looking_at_an_object_runs_no_code_of_its_class():
    class Guarded:
        __slots__ = ("count", "empty")

        def __getattribute__(self, name):
            raise RuntimeError(f"{name} was read")

    guarded = Guarded()
    object.__setattr__(guarded, "count", 1)

    @nki.jit
    def kernel(a):
        out, state = output(a), guarded
        for i in nl.affine_range(4):
            assert state is guarded
            nl.store(out[i], nl.load(a[i]))
        return out

    assert np.array_equal(kernel.call(A).trace_anew().run([A]), A)
