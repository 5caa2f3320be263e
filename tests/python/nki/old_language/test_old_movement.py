"""The older language between HBM and tiles: transposed accesses, masked slices; quotients."""

import ml_dtypes
import numpy as np
import pytest
from isa_harness import in_hbm
from neuron_sim.neuronxcc import nki
from neuron_sim.neuronxcc.nki import compiler as ncc
from neuron_sim.neuronxcc.nki import isa as nisa
from neuron_sim.neuronxcc.nki import language as nl

SHAPES = [(128, 128), (300, 70), (5, 128), (2, 2)]


@nki.jit
def turned_load(a):
    return in_hbm(nl, nl.load_transpose2d(a))


@nki.jit
def turned_store(a):
    out = nl.ndarray(a.shape[::-1], dtype=a.dtype, buffer=nl.shared_hbm)
    p, f = nl.arange(a.shape[0])[:, None], nl.arange(a.shape[1])[None, :]
    nl.store(out[f, p], nl.load(a))
    return out


def values(shape, dtype):
    return (np.random.default_rng(0).random(shape) * 100).astype(dtype)


def matmuls(kernel, array) -> int:
    return kernel.traced(array).source.counters()["matmul_instructions"]


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("shape", SHAPES)
def test_floats_are_turned_128_rows_at_a_time(shape, dtype):
    for kernel, array in (
        (turned_load, values(shape, dtype)),
        (turned_store, values(shape, dtype)),
    ):
        if kernel is turned_store:
            array = array.T.copy()  # its partitions are the first dimension
        assert np.array_equal(kernel(array), array.T)
        assert matmuls(kernel, array) == -(-max(shape) // 128)


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint16, ml_dtypes.float8_e5m2])
def test_other_elements_are_turned_by_the_dma(dtype):
    for kernel in (turned_load, turned_store):
        array = values((70, 128) if kernel is turned_load else (128, 70), dtype)
        assert np.array_equal(np.asarray(kernel(array)), array.T)
        assert matmuls(kernel, array) == 0


def test_a_row_is_stored_as_it_is():
    array = values((1, 70), np.float32)
    assert np.array_equal(turned_store(array), array.T)
    assert matmuls(turned_store, array) == 0


def test_an_allocated_kernel_gets_no_tiles_of_ours():
    @nki.jit
    def kernel(a):
        place = ncc.sbuf.mod_alloc(base_addr=0)
        tile = nl.ndarray((nl.par_dim(64), 100), dtype=a.dtype, buffer=place)
        tile[...] = nl.load_transpose2d(a)
        return in_hbm(nl, tile)

    array = values((100, 64), np.float32)
    assert np.array_equal(kernel(array), array.T)
    assert matmuls(kernel, array) == 0


def test_a_masked_transposed_load_leaves_the_rest():
    @nki.jit
    def kernel(a):
        tile = nl.zeros((128, 300), dtype=a.dtype, buffer=nl.sbuf)
        rows, columns = nl.arange(300)[:, None], nl.arange(128)[None, :]
        to = nl.arange(128)[:, None], nl.arange(300)[None, :]
        tile[to[0], to[1]] = nl.load_transpose2d(
            a[rows, columns], mask=(rows < 250) & (columns < 100)
        )
        return in_hbm(nl, tile)

    array = values((300, 128), np.float32)
    expected = np.zeros((128, 300), np.float32)
    expected[:100, :250] = array.T[:100, :250]
    assert np.array_equal(kernel(array), expected)


def test_turning_on_the_tensor_engine_beats_an_element_per_descriptor():
    floats, integers = values((128, 128), np.float32), values((128, 128), np.int32)
    by_engine = turned_load.traced(floats).time()["body_us"]
    by_dma = turned_load.traced(integers).time()["body_us"]
    assert by_engine < by_dma / 2


def test_a_quotient_of_integers_is_not_rounded():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        rows = nl.ndarray(a.shape, dtype=nl.int32, buffer=nl.shared_hbm)
        tile = nl.load(a)
        nl.store(out, tile / 38)
        nl.store(rows, nl.floor(tile / 38, dtype=nl.int32))
        return out, rows

    numbers = np.arange(6 * 40, dtype=np.int32).reshape(6, 40)
    out, rows = kernel(numbers)
    np.testing.assert_allclose(out, numbers / 38, rtol=1e-6)
    assert np.array_equal(rows, numbers // 38)


def test_a_mask_cuts_a_slice_that_ends_beyond_the_tensor():
    @nki.jit
    def kernel(a):
        tile = nl.zeros((128, 20), dtype=a.dtype, buffer=nl.sbuf)
        rows = nl.arange(128)[:, None] + 64
        nisa.dma_copy(src=a[64:192, 0:20], dst=tile, mask=rows < 100)
        return in_hbm(nl, tile)

    @nki.jit
    def unmasked(a):
        return in_hbm(nl, nl.load(a[64:192, 0:20]))

    a = values((100, 20), np.float32)
    expected = np.zeros((128, 20), np.float32)
    expected[:36] = a[64:]
    assert np.array_equal(kernel(a), expected)
    with pytest.raises(IndexError) as caught:
        unmasked(a)
    assert str(caught.value).startswith(
        "Out-of-bound access for tensor `a` on dimension 0: index range [64, 191] exceed dimension "
        "size of 100"
    )
