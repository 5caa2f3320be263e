"""Advice on a kernel that passes more from loop to loop through HBM than SBUF holds."""

import linecache

import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from test_kernel_changes import advice, body


@nki.jit
def through_hbm(a, in_one_loop):
    """2 * (a + a), with the sum in HBM between two loops or in SBUF."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    sums = None if in_one_loop else nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in range(a.shape[0]):
        tile = _tile_of(a[i])
        nisa.tensor_tensor(tile, tile, tile, op=nl.add)
        if in_one_loop:
            nisa.tensor_tensor(tile, tile, tile, op=nl.add)
        nisa.dma_copy(out[i] if in_one_loop else sums[i], tile)
    for i in range(0 if in_one_loop else a.shape[0]):
        tile = _tile_of(sums[i])
        nisa.tensor_tensor(tile, tile, tile, op=nl.add)
        nisa.dma_copy(out[i], tile)
    return out


def _tile_of(source):
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, source)
    return tile


def test_loops_are_fused_where_sbuf_cannot_hold_what_passes_between_them():
    tiles = np.zeros((40, 128, 2048), np.float32)
    first = advice(through_hbm, tiles, False).changes[0]
    assert first.title == "Keep intermediate results in SBUF" and "fuse the loop" in first.write
    file, _, number = first.line.rpartition(":")
    assert "nisa.dma_copy(tile, source)" in linecache.getline(file, int(number))
    better = body(through_hbm, tiles, True)
    assert better < body(through_hbm, tiles, False) * 0.6
    assert first.body_us == pytest.approx(better, rel=0.1)
    assert all(each.title != first.title for each in advice(through_hbm, tiles, True).changes)
