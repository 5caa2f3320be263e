"""Constant tiles that operators of the old language make: once for all that read them."""

import numpy as np
import pytest
from isa_harness import in_hbm
from neuron_sim.neuronxcc import nki
from neuron_sim.neuronxcc.nki import language as nl


@pytest.mark.parametrize("count", [0, 3])
def test_rows_are_repeated_with_one_tile_of_ones(count):
    @nki.jit
    def kernel(x, row):
        tile = nl.load(x) + nl.load(row)
        for _ in nl.static_range(count):
            tile[...] = tile + nl.load(row)
        for _i in nl.affine_range(2):
            tile[...] = tile * nl.load(row)
        return in_hbm(nl, tile)

    x, row = np.ones((128, 64), np.float32), np.arange(64, dtype=np.float32)[None]
    assert np.array_equal(nki.simulate_kernel(kernel, x, row), (x + (1 + count) * row) * row * row)
    listing = kernel.traced(x, row).source.listing()
    assert listing.count("memset(dst=ones") == 1


def test_ones_of_a_loop_are_not_read_after_it():
    @nki.jit
    def kernel(x, row):
        tile = nl.load(x)
        for _i in nl.sequential_range(3):
            tile[...] = tile * nl.load(row)
        return in_hbm(nl, tile + nl.load(row))

    x, row = np.ones((128, 64), np.float32), np.arange(64, dtype=np.float32)[None]
    assert np.array_equal(nki.simulate_kernel(kernel, x, row), x * row**3 + row)
    assert kernel.traced(x, row).source.listing().count("memset(dst=ones") == 2
