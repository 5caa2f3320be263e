"""Whole kernels in both languages: load, compute, store."""

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, uniform


@old.jit
def old_sum(a, b):
    out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
    for i in old_nl.affine_range(a.shape[0] // 128):
        rows = i * 128 + old_nl.arange(128)[:, None]
        columns = old_nl.arange(a.shape[1])[None, :]
        x = old_nl.load(a[rows, columns])
        y = old_nl.load(b[rows, columns])
        old_nl.store(out[rows, columns], x + y * 2)
    return out


@nki.jit
def new_sum(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in nl.static_range(a.shape[0] // 128):
        rows = slice(i * 128, (i + 1) * 128)
        total = nl.ndarray((128, a.shape[1]), dtype=a.dtype)
        total[...] = nl.load(a[rows]) + nl.load(b[rows]) * 2
        nl.store(out[rows], total)
    return out


@pytest.mark.parametrize("kernel", [old_sum, new_sum], ids=["old", "new"])
@pytest.mark.parametrize("columns", [1, 7, 300])
def test_a_sum_over_tiles_is_that_of_numpy(kernel, columns):
    a, b = uniform(384, columns), uniform(384, columns)
    assert np.array_equal(kernel(a, b), a + 2 * b)


def test_a_loop_of_the_old_language_is_traced_once_and_counted():
    a = uniform(512, 8)
    assert old_sum.traced(a, a).source.instructions == 5
    assert old_sum.traced(a[:384], a[:384]).source.instructions == 5


def test_a_loop_of_the_new_language_is_unrolled():
    a = uniform(256, 8)
    assert new_sum.traced(a, a).source.instructions == 2 * 5


def test_a_result_is_written_straight_into_what_it_is_assigned_to():
    @nki.jit
    def kernel(a):
        x = nl.load(a)
        x[:, 0:2] = x[:, 2:4] + 1
        return in_hbm(nl, x)

    a = uniform(4, 4)
    expected = a.copy()
    expected[:, 0:2] = a[:, 2:4] + 1
    assert np.array_equal(kernel(a), expected)
    assert kernel.traced(a).source.instructions == 3


def test_a_result_that_has_a_name_is_copied():
    @nki.jit
    def kernel(a):
        x = nl.load(a)
        y = x + 1
        x[...] = y
        x[...] = x + y
        return in_hbm(nl, x)

    a = uniform(4, 4)
    assert np.allclose(kernel(a), 2 * (a + 1), rtol=1e-6)


def test_a_tile_of_more_partitions_than_there_are_is_refused_at_the_kernels_line():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(a))
        return out

    a = uniform(128, 4)
    assert np.array_equal(kernel(a), a)
    with pytest.raises(ValueError) as caught:
        kernel(uniform(129, 4))
    assert str(caught.value) == (
        "number of partition in src[129, 4] of 'load' exceed architecture limitation of 128."
    )
    (note,) = caught.value.__notes__
    lines = note.splitlines()
    assert lines[0].endswith("in kernel")
    assert lines[1].strip() == "nl.store(out, nl.load(a))"
    assert lines[2].strip() == "^" * len("nl.load(a)")
    assert lines[2].index("^") - lines[1].index("nl.store") == len("nl.store(out, ")
