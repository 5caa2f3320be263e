"""Assignments to tensors in HBM: a DMA in the new language, an error in the old one."""

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as ol
import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from nki_errors import error_of

A = np.random.default_rng(7).uniform(-1, 1, (128, 12)).astype(np.float32)


def assigned(write, shape=A.shape):
    """What a kernel returns that calls write(out, tile of its argument)."""

    @nki.jit
    def kernel(a):
        out = nl.ndarray(shape, dtype=a.dtype, buffer=nl.shared_hbm)
        write(out, nl.load(a))
        return out

    return kernel


def test_columns_of_tiles_results_and_numbers():
    def write(out, tile):
        out[:, 0:4] = tile[:, 0:4]
        out[:, 4:8] = nl.multiply(tile[:, 4:8], 2.0)
        out[:, 8:10] = tile[:, 8:9]
        out[:, 10:] = 3

    expected = A.copy()
    expected[:, 4:8] *= 2
    expected[:, 9] = A[:, 8]
    expected[:, 10:] = 3
    assert np.array_equal(assigned(write)(A), expected)


def test_a_whole_tensor_and_one_of_its_rows_and_elements():
    def write(out, tile):
        out[...] = tile
        out[1] = tile[0:1, :]
        out[2, 3] = tile[0:1, 0:1]

    expected = A.copy()
    expected[1] = A[0]
    expected[2, 3] = A[0, 0]
    assert np.array_equal(assigned(write)(A), expected)


def test_a_sum_in_psum_is_copied_first():
    def write(out, tile):
        total = nl.ndarray(A.shape, dtype=nl.float32, buffer=nl.psum)
        total[...] = tile
        out[:, :] = total

    assert np.array_equal(assigned(write)(A), A)


def test_it_takes_as_long_as_a_store():
    stored = assigned(lambda out, tile: nl.store(out, tile)).traced(A)
    by_assignment = assigned(lambda out, tile: out.__setitem__(slice(None), tile)).traced(A)
    assert by_assignment.time() == stored.time()


def test_a_shape_that_does_not_fit_is_refused():
    kernel = assigned(lambda out, tile: out.__setitem__(slice(0, 3), tile))
    assert error_of(kernel, A) == (
        "Illegal assignment destination shape in 'store': shape [3, 12] of parameter 'dst' does "
        "not match the shape of value[128, 12]."
    )


def test_an_hbm_tensor_is_no_value():
    kernel = nki.jit(lambda a: a.__setitem__(slice(None), a))
    assert error_of(kernel, A) == (
        "Expected operand 'value' of 'store' to be in address space 'psum|sbuf', but got a tile "
        "in 'hbm' instead."
    )


def test_the_old_language_has_no_such_assignment():
    @old.jit
    def kernel(a):
        out = ol.ndarray(a.shape, dtype=a.dtype, buffer=ol.shared_hbm)
        out[...] = ol.load(a)
        return out

    assert error_of(kernel, A) == (
        "tensor `out` is in hbm, which an assignment cannot write; use nl.store or nisa.dma_copy."
    )


@pytest.mark.parametrize("language", [nl, ol], ids=["new", "old"])
def test_elements_of_a_vector_are_loaded_and_stored_one_by_one(language):
    @(nki if language is nl else old).jit
    def kernel(vector, a):
        out = language.ndarray((6,), dtype=a.dtype, buffer=language.shared_hbm)
        tile = language.load(a)
        for i in language.static_range(5):
            language.store(out[i], tile[i : i + 1, 0:1])
        language.store(out[5], language.load(vector[3]))
        return out

    vector = np.arange(6, dtype=np.float32)
    assert np.array_equal(kernel(vector, A), [*A[:5, 0], 3])
