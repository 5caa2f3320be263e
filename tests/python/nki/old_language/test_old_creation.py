"""Creation of tensors in the old language: what may be declared, and what has initial values."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from nki_errors import error_of


def stored(make, shape):
    """What a kernel stores that makes a tile."""

    @nki.jit
    def kernel():
        out = nl.ndarray(shape, dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out, make())
        return out

    return kernel()


def test_a_tile_has_two_dimensions():
    assert error_of(stored, lambda: nl.zeros((128,), dtype=nl.float32), (128,)) == (
        "Insufficient rank: an on-chip tensor of shape [128] needs a partition dimension and at "
        "least one free dimension."
    )


def test_a_tile_of_partitions_alone_may_be_declared_but_not_used():
    def column(use):
        tile = nl.ndarray((nl.par_dim(128),), dtype=nl.float32, buffer=nl.sbuf)
        assert tile.shape == (128,)
        use(tile)
        tile = nl.full((128, 1), 2.0, dtype=nl.float32)
        return tile

    assert (stored(lambda: column(lambda tile: None), (128, 1)) == 2).all()
    for use in (
        lambda tile: nl.exp(tile),
        lambda tile: tile[0:4],
        lambda tile: tile.__setitem__(..., 1.0),
        lambda tile: tile.__setitem__(..., nl.zeros((128, 1), dtype=nl.float32)),
    ):
        assert error_of(stored, lambda use=use: column(use), (128, 1)).startswith(
            "Insufficient rank: an on-chip tensor of shape [128] needs"
        )
    assert error_of(stored, lambda: nl.ndarray((129,), dtype=nl.float32), (128, 1)) == (
        "number of partitions 129 exceed architecture limitation of 128."
    )


def test_a_result_in_hbm_has_no_initial_value():
    assert error_of(
        stored, lambda: nl.zeros((4, 4), dtype=nl.float32, buffer=nl.shared_hbm), (4, 4)
    ) == ("Creating HBM tensor with init value is not supported.")


@pytest.mark.parametrize("buffer", [nl.hbm, nl.private_hbm])
@pytest.mark.parametrize("shape", [(4, 4), (7,), (128, 3), (2, 3, 200, 5), (129, 4001)])
def test_scratch_memory_in_hbm_may_have_an_initial_value(buffer, shape):
    @nki.jit
    def kernel():
        return nl.full(shape, 2.5, dtype=nl.float32, buffer=buffer)

    assert np.array_equal(kernel(), np.full(shape, 2.5, np.float32))
