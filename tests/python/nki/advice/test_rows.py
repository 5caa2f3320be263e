"""Advice on vectors that a kernel loads element by element, one for each partition."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from test_kernel_changes import advice, body

TITLE = "Rows instead of single elements"
VECTOR = np.zeros(25600, np.float32)


def _each_tile(a, function):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(a.shape[0] // 128):
        nl.store(out[m * 128 : (m + 1) * 128], function(m, nl.load(a[m * 128 : (m + 1) * 128])))
    return out


@nki.jit
def doubled(a):
    return _each_tile(a, lambda _m, tile: nl.add(tile, tile))


@nki.jit
def doubled_in_tiles(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(a.shape[0] // 128):
        tile = nl.ndarray((128, 1), dtype=a.dtype, buffer=nl.sbuf)
        tile[...] = nl.load(a[m * 128 : (m + 1) * 128])
        nl.store(out[m * 128 : (m + 1) * 128], nl.add(tile, tile))
    return out


@nki.jit
def scaled_by_its_number(a):
    return _each_tile(a, lambda m, tile: nl.multiply(tile, float(m)))


@nki.jit
def one_tile(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out[0:64], nl.add(nl.load(a[0:64]), 1.0))
    return out


@pytest.mark.parametrize("kernel", [doubled, doubled_in_tiles])
def test_a_vector_becomes_rows_of_elements(kernel):
    (rows,) = [each for each in advice(kernel, VECTOR, arch="trn1").changes if each.title == TITLE]
    better = body(doubled, VECTOR.reshape(128, 200), arch="trn1")
    assert rows.body_us == pytest.approx(better, rel=0.01) and rows.saved > 0.9
    assert "reshape a to [128, 200]" in rows.write
    line = doubled_in_tiles.func.__code__.co_firstlineno + 4
    is_told = f"200 columns instead of 1 for the tiles of lines {line}," in rows.write
    assert is_told == (kernel is doubled_in_tiles) == (rows.line == f"{__file__}:{line}")


@pytest.mark.parametrize(
    "kernel, argument",
    [
        (doubled, VECTOR.reshape(128, 200)),  # rows already
        (doubled, VECTOR[:128]),  # an element for each partition
        (one_tile, VECTOR[:64]),  # fewer
        (scaled_by_its_number, VECTOR),  # another number for the elements of a row
    ],
)
def test_other_arguments_and_results_stay(kernel, argument):
    found = advice(kernel, argument, arch="trn1").changes
    assert all(each.title != TITLE for each in found)
