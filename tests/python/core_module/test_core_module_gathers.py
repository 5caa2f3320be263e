"""Builder: gathers, shuffles, scans of indices; DMA options."""

import numpy as np
import pytest
from core_module_kernel import Kernel, normal


def test_nc_n_gather_takes_elements_of_each_partition():
    data = normal(6, 20)
    indices = np.random.default_rng(1).integers(0, 20, (6, 9)).astype(np.uint32)
    kernel = Kernel()
    dst = kernel.tile([6, 9])
    kernel.builder.nc_n_gather(dst, kernel.load(data), kernel.load(indices))
    kernel.result(dst)
    np.testing.assert_array_equal(kernel.run(), np.take_along_axis(data, indices, axis=1))


def test_local_gather_shares_indices_between_sixteen_partitions():
    data = normal(32, 24)
    index = np.random.default_rng(1).integers(0, 21, (32, 2)).astype(np.uint16)
    kernel = Kernel()
    dst = kernel.tile([32, 20 * 4])
    kernel.builder.local_gather(
        dst, kernel.load(data), kernel.load(index), num_elem_per_idx=4, num_valid_indices=20
    )
    kernel.result(dst)
    expected = np.empty((32, 80), np.float32)
    for partition in range(32):
        starts = index[partition // 16 * 16 :][:16].T.reshape(-1)[:20].astype(int)
        expected[partition] = np.concatenate([data[partition, s : s + 4] for s in starts])
    np.testing.assert_array_equal(kernel.run(), expected)


def test_nc_stream_shuffle_permutes_each_quadrant():
    data = normal(64, 5)
    mask = np.random.default_rng(3).permutation(32)
    mask[4] = 255
    kernel = Kernel()
    dst = kernel.tile([64, 5])
    kernel.builder.memset(dst, 1.0)
    kernel.builder.nc_stream_shuffle(dst, kernel.load(data), [int(m) for m in mask])
    kernel.result(dst)
    quadrants = data.reshape(2, 32, 5)[:, np.where(mask == 255, 0, mask)]
    quadrants[:, 4] = 1.0
    np.testing.assert_array_equal(kernel.run(), quadrants.reshape(64, 5))


def test_nonzero_with_count_lists_indices():
    data = np.zeros((16, 12), np.float32)
    data[0, [1, 5, 6]] = [2, -1, 3]
    kernel = Kernel()
    dst = kernel.tile([16, 13], np.int32)
    kernel.builder.memset(dst, 0)
    kernel.builder.nonzero_with_count(dst, kernel.load(data), index_offset=10, padding_val=-5)
    kernel.result(dst, np.int32)
    np.testing.assert_array_equal(kernel.run()[0], [11, 15, 16] + [-5] * 9 + [3])


def test_sequence_bounds_finds_runs():
    ids = np.array([[1, 1, 2, 2, 2, 0, 3]], np.float32)
    kernel = Kernel()
    dst = kernel.tile([1, 2, 7])
    kernel.builder.sequence_bounds(dst, kernel.load(ids))
    kernel.result(dst)
    expected = [[0, 0, 2, 2, 2, 7, 6], [2, 2, 5, 5, 5, -1, 7]]
    np.testing.assert_array_equal(kernel.run()[0], expected)


@pytest.mark.parametrize("skip", [False, True])
def test_dma_copy_gathers_rows_and_skips_those_out_of_range(skip):
    table = normal(10, 6)
    rows = np.array([[3], [0], [12 if skip else 9]], np.int32)
    kernel = Kernel()
    dst = kernel.tile([3, 6])
    kernel.builder.memset(dst, -1.0)
    source = kernel.argument(table)[0:3].indirect(10)
    kernel.builder.dma_copy(
        dst, source, index=kernel.load(rows), oob_mode="skip" if skip else "error"
    )
    kernel.result(dst)
    expected = np.where(rows < 10, table[np.minimum(rows[:, 0], 9)], -1.0)
    np.testing.assert_array_equal(kernel.run(), expected)


def test_dma_compute_adds_its_sources():
    sources = [normal(4, 9, seed=seed) for seed in range(3)]
    kernel = Kernel()
    dst = kernel.tile([4, 9])
    kernel.builder.dma_compute(dst, [kernel.argument(s) for s in sources], scales=[1.0] * 3)
    kernel.result(dst)
    np.testing.assert_array_equal(kernel.run(), sources[0] + sources[1] + sources[2])


def test_dma_transpose_and_priority():
    data = normal(16, 24).astype(np.float16)
    kernel = Kernel("trn3")
    dst = kernel.tile([24, 16], np.float16)
    kernel.builder.dma_transpose(dst, kernel.argument(data), axes=[1, 0], priority=2)
    kernel.result(dst, np.float16)
    np.testing.assert_array_equal(kernel.run(), data.T)


def test_what_cannot_be_gathered_is_refused():
    kernel = Kernel()
    tile, words = kernel.tile([32, 40]), kernel.tile([32, 40], np.uint32)
    builder = kernel.builder
    with pytest.raises(TypeError, match="operand 'indices' of 'nc_n_gather'"):
        builder.nc_n_gather(tile, tile, tile)
    with pytest.raises(ValueError, match="num_elem_per_idx 3"):
        builder.local_gather(tile, tile, words.reinterpret("uint16"), num_elem_per_idx=3)
    with pytest.raises(ValueError, match="shuffle_mask\\[0\\] of 'nc_stream_shuffle' is 32"):
        builder.nc_stream_shuffle(tile, tile, [32] * 32)
    with pytest.raises(ValueError, match="operand 'dst' of 'nonzero_with_count'"):
        builder.nonzero_with_count(words.reinterpret("int32"), tile)
    with pytest.raises(ValueError, match="operand 'segment_ids' of 'sequence_bounds'"):
        builder.sequence_bounds(tile, tile)
    with pytest.raises(NotImplementedError, match="function 'softsign' of library 'lib.so'"):
        builder.builtin_custom_op("softsign", "lib.so", [tile], [tile])
    with pytest.raises(ValueError, match="oob_mode 'wrap' is unknown; allowed: error, skip"):
        builder.dma_copy(tile, tile, oob_mode="wrap")
    source = kernel.argument(normal(32, 40))
    with pytest.raises(NotImplementedError, match="parameter 'priority' needs NeuronCore-v4"):
        builder.dma_copy(tile, source, priority=9)


def test_the_row_out_of_range_is_an_error_without_skip():
    kernel = Kernel()
    dst = kernel.tile([2, 6])
    rows = kernel.load(np.array([[3], [10]], np.int32))
    kernel.builder.dma_copy(dst, kernel.argument(normal(10, 6))[0:2].indirect(10), index=rows)
    kernel.result(dst)
    with pytest.raises(IndexError):
        kernel.run()
