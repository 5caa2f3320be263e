"""Iterations that depend on each other in an affine_range, with and without the middle end."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.compiler as ncc
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest

A = np.random.default_rng(0).uniform(0.5, 2, (128, 16)).astype(np.float32)


def prefix_sum(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.load(a)
    for i in nl.affine_range(15):
        x[:, i + 1] = nl.add(x[:, i], x[:, i + 1])
    nl.store(out, x)
    return out


def test_iterations_that_depend_on_each_other_are_refused():
    with pytest.raises(ValueError, match="parallel"):
        nki.jit(prefix_sum)(A)


def test_without_the_middle_end_they_run_in_order_with_a_warning():
    kernel = nki.jit(ncc.skip_middle_end_transformations(prefix_sum))
    with pytest.warns(UserWarning, match=r"it runs in order only because the kernel skips"):
        computed = kernel(A)
    np.testing.assert_array_equal(computed, np.add.accumulate(A, axis=1))
