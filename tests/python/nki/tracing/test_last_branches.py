"""Conditions on loop variables that choose Python values, as the vendor's tracer reads them."""

import warnings

import numpy as np
import pytest
from neuron_sim.neuronxcc import nki
from neuron_sim.neuronxcc.nki import language as nl
from nki_errors import error_of


def rows_in_chunks(remainder_of_last):
    """Copies columns in chunks of two; the last chunk has `remainder_of_last(columns)` of them."""

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        chunks, rest = a.shape[1] // 2, remainder_of_last(a.shape[1])
        for chunk in nl.affine_range(chunks):
            assert 0 <= chunks - chunk <= chunks
            if chunk == chunks - 1:
                rows = rest
            else:
                rows = 2
            tile = nl.ndarray((128, rows), dtype=a.dtype)
            end = min(a.shape[1], 2 * chunk + rows)
            tile[...] = nl.load(a[:, 2 * chunk : end])
            nl.store(out[:, 2 * chunk : end], tile)
        return out

    return kernel


A = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)


def test_the_last_branch_holds_where_an_iteration_would_have_an_empty_tile():
    with pytest.warns(UserWarning, match="only assign Python values") as caught:
        result = rows_in_chunks(lambda rows: 0)(A)
    assert np.array_equal(result, A)
    assert "if chunk == chunks - 1" in str(caught[0].message)


def test_each_iteration_decides_where_all_have_elements():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = rows_in_chunks(lambda rows: 1)
        assert np.array_equal(kernel(A)[:, :7], A[:, :7])
        assert not np.array_equal(kernel(A)[:, 7], A[:, 7])


def test_an_empty_tile_that_no_condition_explains_is_refused():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(4):
            if i == 3:
                tile = nl.ndarray((128, int(i) - 3), dtype=a.dtype)
                nl.store(out[:, 0:1], tile)
            nl.store(out[:, 2 * i : 2 * i + 2], nl.load(a[:, 2 * i : 2 * i + 2]))
        return out

    assert error_of(kernel, A) == "a tensor of shape [128, 0] has no elements."
