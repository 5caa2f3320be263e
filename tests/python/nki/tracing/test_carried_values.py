"""Python values that the body of a loop hands to its next iteration."""

import warnings

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.compiler as ncc
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest

A = np.random.default_rng(5).uniform(-1, 1, (4, 8, 6)).astype(np.float32)
FACTORS = np.array([2, 3, 3, 3], np.float32).reshape(4, 1, 1)
COUNTS = np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1)


def output(a):
    return nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)


def flag(a):
    out = output(a)
    first = True
    for i in nl.affine_range(4):
        factor = 3.0
        if first:
            factor = 2.0
            first = False
        nl.store(out[i], nl.load(a[i]) * factor)
    return out


def number(a):
    out = output(a)
    count = 0
    for i in nl.sequential_range(4):
        count += 1
        nl.store(out[i], nl.load(a[i]) * float(count))
    return out


def number_in_a_list(a):
    out = output(a)
    counts = [0]
    for i in nl.affine_range(4):
        counts[0] += 1
        nl.store(out[i], nl.load(a[i]) * float(counts[0]))
    return out


def number_in_a_dict(a):
    out = output(a)
    counts = {"rows": 0}
    for i in nl.affine_range(4):
        counts["rows"] = counts["rows"] + 1
        nl.store(out[i], nl.load(a[i]) * float(counts["rows"]))
    return out


def number_of_an_outer_loop(a):
    out = output(a)
    count = 0
    for i in nl.affine_range(4):
        count += 1
        for j in nl.affine_range(2):
            nl.store(out[i, j * 4 : j * 4 + 4], nl.load(a[i, j * 4 : j * 4 + 4]) * float(count))
    return out


def bool_and_number_are_two_values(a):
    out = output(a)
    seen = 1
    for i in nl.affine_range(4):
        nl.store(out[i], nl.load(a[i]) * (3.0 if seen is True else 2.0))
        seen = True
    return out


@pytest.mark.parametrize(("function", "name", "factors"), [
    (flag, "first", FACTORS),
    (number, "count", COUNTS),
    (number_in_a_list, "counts", COUNTS),
    (number_in_a_dict, "counts", COUNTS),
    (number_of_an_outer_loop, "count", COUNTS),
    (bool_and_number_are_two_values, "seen", FACTORS),
])  # fmt: skip
def test_a_loop_that_hands_a_value_on_is_unrolled_and_a_warning_names_it(function, name, factors):
    kernel = nki.jit(function)
    with pytest.warns(UserWarning, match=f"'{name}' changes from one iteration") as caught:
        result = kernel(A)
    np.testing.assert_allclose(result, A * factors, rtol=1e-6)
    assert caught[0].filename == __file__
    lines = range(function.__code__.co_firstlineno, function.__code__.co_firstlineno + 9)
    assert caught[0].lineno in lines


def set_before_it_is_read(a):
    out = output(a)
    factor = 7.0
    for i in nl.affine_range(4):
        factor = 2.0
        nl.store(out[i], nl.load(a[i]) * factor)
    return out


def counts_without_a_reader(a):
    out, count, names = output(a), 0, []
    for i in nl.affine_range(4):
        count += 1
        names.append("x")
        nl.store(out[i], nl.load(a[i]) * 2.0)
    return out


def reads_without_a_change(a):
    out, factors = output(a), [2.0]
    for i in nl.affine_range(4):
        nl.store(out[i], nl.load(a[i]) * factors[0])
    return out


@pytest.mark.parametrize(
    "function", [set_before_it_is_read, counts_without_a_reader, reads_without_a_change]
)
def test_other_loops_are_traced_once_without_a_warning(function):
    kernel = nki.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(kernel(A), A * 2)
    assert kernel.traced(A).source.instructions == 3


def test_addresses_that_a_loop_counts_are_those_of_the_traced_iteration():
    """Kernels with direct allocation rely on it, as under the vendor's tracer."""
    addresses = []

    @nki.jit
    def kernel(a):
        out, address = output(a), 0
        for i in nl.affine_range(4):
            buffer = ncc.sbuf.mod_alloc(base_addr=address)
            address += 64
            tile = nl.ndarray((8, 6), dtype=a.dtype, buffer=buffer)
            tile[...] = nl.load(a[i])
            nl.store(out[i], tile)
            addresses.append(address)
        return out

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(kernel(A), A)
    assert set(addresses) == {64}
