"""Indices of tensors in HBM that a tile of one element holds, in nl.load and nl.store."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from nki_errors import error_of

BLOCKS = np.random.default_rng(3).uniform(-1, 1, (16, 4, 8)).astype(np.float32)
ROWS = BLOCKS[:, 0]
PLACES = np.array([[3, 0, 15, 7]], np.int32)


def loaded(part, source, shape, places=PLACES):
    """What a kernel loads from part(source, a number of `places`), for all of them in a loop."""

    @nki.jit
    def kernel(source, places):
        out = nl.ndarray((places.shape[1], *shape), dtype=source.dtype, buffer=nl.shared_hbm)
        held = nl.load(places)
        for i in nl.affine_range(places.shape[1]):
            nl.store(out[i], nl.load(part(source, held[0, i])))
        return out

    return kernel(source, places)


def grid():
    return nl.mgrid[0:4, 0:8]


BLOCK_FORMS = {
    "alone": lambda x, i: x[i],
    "before index expressions": lambda x, i: x[i, nl.arange(4)[:, None], nl.arange(8)[None, :]],
    "before a grid of them": lambda x, i: x[(i, *grid())],
    "before slices": lambda x, i: x[i, 0:4, :],
    "before an ellipsis": lambda x, i: x[i, ...],
}


@pytest.mark.parametrize("form", BLOCK_FORMS)
def test_a_block_is_loaded_from_an_index_that_a_tile_holds(form):
    result = loaded(BLOCK_FORMS[form], BLOCKS, (4, 8))
    np.testing.assert_array_equal(result, BLOCKS[PLACES[0]])


ROW_FORMS = {
    "an index of rows": lambda x, i: x[i + nl.arange(4)[:, None], nl.arange(8)[None, :]],
    "a slice": lambda x, i: x[nl.ds(i, 4), 0:8],
}


@pytest.mark.parametrize("form", ROW_FORMS)
def test_rows_are_loaded_from_an_index_that_a_tile_holds(form):
    places = np.array([[0, 5, 12]], np.int32)
    result = loaded(ROW_FORMS[form], ROWS, (4, 8), places)
    np.testing.assert_array_equal(result, np.stack([ROWS[i : i + 4] for i in places[0]]))


def test_a_mask_narrows_a_block_that_a_tile_names_and_a_store_writes_it():
    @nki.jit
    def kernel(blocks, places):
        out = nl.ndarray(blocks.shape, dtype=blocks.dtype, buffer=nl.shared_hbm)
        held, (p, f) = nl.load(places), grid()
        for block in nl.affine_range(blocks.shape[0]):
            nl.store(out[block], nl.zeros((4, 8), blocks.dtype))
        for i in nl.affine_range(places.shape[1]):
            nl.store(out[held[0, i], p, f], nl.load(blocks[i, p, f]), mask=p < 3)
        return out

    expected = np.zeros_like(BLOCKS)
    expected[PLACES[0], :3] = BLOCKS[:4, :3]
    np.testing.assert_array_equal(kernel(BLOCKS, PLACES), expected)


@pytest.mark.parametrize(("place", "first"), [(16, 2048), (-1, -128)])
def test_a_block_outside_the_tensor_is_refused_when_the_kernel_runs(place, first):
    last = np.array([[15]], np.int32)
    np.testing.assert_array_equal(loaded(BLOCK_FORMS["alone"], BLOCKS, (4, 8), last)[0], BLOCKS[15])
    places = np.array([[place]], np.int32)
    message = error_of(loaded, BLOCK_FORMS["alone"], BLOCKS, (4, 8), places, kind=IndexError)
    assert f"register 0 addresses bytes [{first}, {first + 128}) of 2048" in message


def test_two_indices_that_tiles_hold_and_places_of_another_dtype_are_refused():
    message = error_of(loaded, lambda x, i: x[i, i], BLOCKS, (1, 8), kind=IndexError)
    assert message.startswith("tensor `source`: at most one index can be a register.")
    places = PLACES.astype(np.float32)
    message = error_of(loaded, BLOCK_FORMS["alone"], BLOCKS, (4, 8), places, kind=TypeError)
    assert "expected int32 or uint32" in message
