"""The cache of programs: pure kernels are traced once for their shapes and constants."""

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import numpy as np
import pytest
from cache_harness import (
    FACTOR,
    PURE_KERNELS,
    A,
    Config,
    assert_kept,
    counted,
    emit,
    empty_cache,  # noqa: F401 - a fixture
)


@pytest.mark.parametrize("name", PURE_KERNELS)
def test_a_pure_kernel_is_traced_once(name):
    function, factor = PURE_KERNELS[name]
    assert_kept(nki.jit(function), A, factor=factor)


def test_a_kernel_of_the_old_language_is_traced_once():
    @old.jit
    def kernel(a):
        import neuron_sim.neuronxcc.nki.language as names
        from neuron_sim.nki.tracing.dtypes import float32

        out = names.ndarray(a.shape, dtype=float32, buffer=names.shared_hbm)
        names.store(out, old_nl.load(a) * 2)
        return out

    assert_kept(kernel, A, factor=2.0)


def test_a_kernel_that_calls_kernels_is_traced_once():
    inner = nki.jit(emit)
    assert_kept(nki.jit(lambda a: inner(a, FACTOR)), A, factor=3.0)


def test_an_object_that_is_made_for_every_call_is_known_by_its_contents():
    kernel = nki.jit(lambda a, config: emit(a, config.total))
    assert np.array_equal(kernel(A, Config(1.0)), A * 3)
    counts, found = counted(kernel, A, Config(1.0))
    assert counts == (1, 0, 0) and np.array_equal(found, A * 3)
    counts, found = counted(kernel, A, Config(2.0))
    assert counts == (0, 1, 0) and np.array_equal(found, A * 4)


def test_two_kernels_of_one_function_share_programs_and_do_not_mix_their_closures():
    def make(factor):
        return nki.jit(lambda a: emit(a, factor))

    for factor in (2.0, 3.0, 2.0):
        assert np.array_equal(make(factor)(A), A * factor)
    counts, found = counted(make(3.0), A)
    assert counts == (1, 0, 0) and np.array_equal(found, A * 3)
