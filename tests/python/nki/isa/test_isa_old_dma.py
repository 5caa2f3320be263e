"""neuronxcc.nki.isa.dma_copy: copies, additions, gathers, indices out of bounds."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, integers, uniform


def test_dma_copy_copies_adds_gathers_and_skips():
    @nki.jit
    def kernel(data, rows):
        copied = nl.ndarray(data.shape, data.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=copied, src=data)
        tile = nl.load(data)
        nisa.dma_copy(dst=copied, src=tile, dst_rmw_op=np.add)
        index = nl.load(rows)
        gathered = nisa.memset((8, 20), -1, nl.float32)
        p, f = nl.mgrid[0:8, 0:20]
        nisa.dma_copy(dst=gathered[p, f], src=data[index, f], oob_mode=nisa.oob_mode.skip)
        out = nl.ndarray((8, 20), data.dtype, buffer=nl.shared_hbm)
        nl.store(out, gathered)
        return copied, out

    data, rows = uniform(50, 20), integers(8, 1, high=100)
    rows[0] = 7
    copied, out = kernel(data, rows)
    inside = rows[:, 0] < 50
    np.testing.assert_array_equal(copied, data + data)
    np.testing.assert_array_equal(out[inside], data[rows[inside, 0]])
    np.testing.assert_array_equal(out[~inside], -1)


def test_an_index_out_of_bounds_is_an_error_when_the_kernel_runs():
    @nki.jit
    def kernel(data, rows):
        index = nl.load(rows)
        gathered = nl.ndarray((8, 20), data.dtype)
        p, f = nl.mgrid[0:8, 0:20]
        nisa.dma_copy(dst=gathered[p, f], src=data[index, f])
        return in_hbm(nl, gathered)

    rows = np.arange(43, 51, dtype=np.int32)[:, None]
    data = uniform(50, 20)
    np.testing.assert_array_equal(kernel(data, rows - 1), data[42:50])
    with pytest.raises(IndexError):
        kernel(data, rows)
