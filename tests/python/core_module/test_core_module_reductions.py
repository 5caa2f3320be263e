"""Builder: reductions with registers, statistics, searches."""

import ml_dtypes
import numpy as np
import pytest
from core_module_kernel import Kernel, normal


def test_tensor_scalar_reduce_returns_values_and_their_sum():
    data, factor = normal(9, 33), normal(9, 1, seed=1)
    kernel = Kernel()
    dst, total = kernel.tile(data.shape), kernel.tile([9, 1])
    kernel.builder.tensor_scalar_reduce(
        dst,
        kernel.load(data),
        "multiply",
        kernel.load(factor),
        "add",
        reduce_res=total,
        reduce_cmd="load_reduce",
        reduce_init=5.0,
        reduce_res_negate=True,
    )
    kernel.result(dst)
    kernel.result(total)
    values, total = kernel.run()
    expected = data.astype(np.float64) * factor
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    np.testing.assert_allclose(total, -(5 + expected.sum(axis=1, keepdims=True)), rtol=1e-5)


def test_tensor_scalar_cumulative_runs_along_a_partition():
    data = normal(5, 17)
    kernel = Kernel()
    dst = kernel.tile(data.shape)
    kernel.builder.tensor_scalar_cumulative(
        dst, kernel.load(data), "multiply", "add", 2.0, imm1=1.5, reduce_cmd="load_reduce"
    )
    kernel.result(dst)
    expected = 1.5 + np.cumsum(2.0 * data.astype(np.float64), axis=1)
    np.testing.assert_allclose(kernel.run(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("op", "oracle"), [("add", np.sum), ("average", np.mean), ("max", np.max), ("maximum", np.max)]
)
def test_tensor_partition_reduce(op, oracle):
    data = normal(37, 11)
    kernel = Kernel()
    dst = kernel.tile([1, 11])
    kernel.builder.tensor_partition_reduce(dst, op, kernel.load(data))
    kernel.result(dst)
    expected = oracle(data.astype(np.float64), axis=0, keepdims=True)
    np.testing.assert_allclose(kernel.run(), expected, rtol=1e-5, atol=1e-6)


def test_bn_stats_and_bn_aggr_give_mean_and_variance():
    data = normal(7, 45)
    kernel = Kernel()
    stats, moments = kernel.tile([7, 6]), kernel.tile([7, 2])
    kernel.builder.bn_stats(stats, kernel.load(data))
    kernel.builder.bn_aggr(moments, stats)
    kernel.result(moments)
    moments = kernel.run()
    wide = data.astype(np.float64)
    np.testing.assert_allclose(moments[:, 0], wide.mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(moments[:, 1], wide.var(axis=1), rtol=1e-5)


def test_the_eight_largest_are_found_and_replaced():
    data = normal(6, 50)
    kernel = Kernel()
    tile, largest = kernel.load(data), kernel.tile([6, 8])
    indices, places = kernel.tile([6, 8], np.uint32), kernel.tile([6, 8], np.uint32)
    rest = kernel.tile(data.shape)
    kernel.builder.max8(largest, tile)
    kernel.builder.nc_find_index8(indices, tile, largest)
    kernel.builder.nc_match_replace8(rest, tile, largest, -100.0, dst_idx=places)
    kernel.result(largest)
    kernel.result(indices, np.uint32)
    kernel.result(places, np.uint32)
    kernel.result(rest)
    largest, indices, places, rest = kernel.run()
    order = np.argsort(-data, axis=1)[:, :8]
    np.testing.assert_array_equal(largest, np.take_along_axis(data, order, axis=1))
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(places, order)
    expected = data.copy()
    np.put_along_axis(expected, order, -100.0, axis=1)
    np.testing.assert_array_equal(rest, expected)


def test_topk_searches_the_snake_of_sixteen_partitions():

    data = np.random.default_rng(2).permutation(160).reshape(16, 10).astype(ml_dtypes.bfloat16)
    kernel = Kernel()
    values, indices = kernel.load(np.zeros((16, 5), data.dtype)), kernel.tile([16, 5], np.uint32)
    kernel.builder.memset(indices, 0)
    kernel.builder.topk(values, indices, kernel.load(data), 150)
    kernel.result(values, data.dtype)
    kernel.result(indices, np.uint32)
    values, indices = kernel.run()
    snake = data.T.reshape(-1)[:150].astype(np.float32)
    order = np.argsort(snake)[-5:]  # ascending; five results lie in the first column
    np.testing.assert_array_equal(values.astype(np.float32).T.reshape(-1)[:5], snake[order])
    np.testing.assert_array_equal(indices.T.reshape(-1)[:5], order)


def test_what_cannot_be_reduced_is_refused():
    kernel = Kernel()
    tile, small = kernel.tile([4, 600]), kernel.tile([4, 8])
    builder = kernel.builder
    with pytest.raises(ValueError, match="op 'median' of 'tensor_partition_reduce' is unknown"):
        builder.tensor_partition_reduce(tile[0:1], "median", tile)
    with pytest.raises(ValueError, match="600"):
        builder.bn_stats(small[:, 0:6], tile)
    with pytest.raises(ValueError, match="operand 'data' of 'bn_aggr' has 8"):
        builder.bn_aggr(small[:, 0:2], small)
    with pytest.raises(ValueError, match="operand 'src' of 'max8' has 7"):
        builder.max8(small, tile[:, 0:7])
    with pytest.raises(TypeError, match="'nc_find_index8'"):
        builder.nc_find_index8(small, tile, small)
    with pytest.raises(ValueError, match="operand 'vals' of 'nc_match_replace8' has 7"):
        builder.nc_match_replace8(tile, tile, small[:, 0:7], 0.0)
    with pytest.raises(ValueError, match="op1 'divide' of 'tensor_scalar_cumulative'"):
        builder.tensor_scalar_cumulative(tile, tile, "add", "divide", 0.0)
    with pytest.raises(TypeError, match="parameter 'operand0' is \\[\\], not a number or a tile"):
        builder.tensor_scalar_reduce(tile, tile, "add", [], "add")
    with pytest.raises(ValueError, match="'topk'"):
        builder.topk(small, small, tile, 5)
