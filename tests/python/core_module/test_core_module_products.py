"""Builder: parameters of the matrix products, the activations and the scan."""

import ml_dtypes
import numpy as np
import pytest
from core_module_kernel import Kernel, normal
from neuron_sim import _core


def test_every_instruction_is_a_method():
    assert [name for name in _core.instructions() if not hasattr(_core.Builder, name)] == []


def product(stationary, moving):
    return stationary.astype(np.float64).T @ moving.astype(np.float64)


def test_nc_matmul_on_a_tile_of_the_array():
    stationary, moving = normal(32, 24), normal(32, 40, seed=1)
    kernel = Kernel()
    psum = kernel.builder.psum("sum", [24, 40])
    kernel.builder.nc_matmul(
        psum,
        kernel.load(stationary),
        kernel.load(moving),
        tile_position=(32, 0),
        tile_size=(32, 128),
    )
    kernel.result(psum)
    np.testing.assert_allclose(kernel.run(), product(stationary, moving), rtol=1e-4, atol=1e-5)


def test_nc_matmul_of_double_rows():
    stationary = normal(16, 2, 24).astype(ml_dtypes.float8_e4m3fn)
    moving = normal(16, 2, 40, seed=1).astype(ml_dtypes.float8_e4m3fn)
    kernel = Kernel("trn3")
    psum = kernel.builder.psum("sum", [24, 40])
    tiles = [kernel.load(array) for array in (stationary, moving)]
    kernel.builder.nc_matmul(psum, *tiles, accumulate=False, perf_mode="double_row")
    kernel.result(psum)
    expected = sum(product(stationary[:, i], moving[:, i]) for i in range(2))
    np.testing.assert_allclose(kernel.run(), expected, rtol=1e-5, atol=1e-5)


def test_quantize_mx_and_nc_matmul_mx():
    """Powers of two survive the quantisation, so that the product is exact."""
    random = np.random.default_rng(4)
    kernel = Kernel("trn3")
    builder = kernel.builder
    arrays, operands = [], []
    for columns in (4, 6):
        values = 2.0 ** random.integers(-2, 3, (32, 4 * columns))
        values = values * random.choice([-1, 1], values.shape)
        tile = kernel.load(values.astype(np.float16))
        packed = builder.sbuf("packed", [32, columns], "float8_e4m3fn_x4")
        scale = builder.sbuf("scale", [32, columns], "uint8")
        builder.quantize_mx(packed, tile, scale)
        arrays.append(values.reshape(32, columns, 4))
        operands.append((packed, scale))
    psum = builder.psum("sum", [4, 6])
    (stationary, stationary_scale), (moving, moving_scale) = operands
    builder.nc_matmul_mx(psum, stationary, moving, stationary_scale, moving_scale)
    kernel.result(psum)
    np.testing.assert_array_equal(kernel.run(), np.einsum("kmx,knx->mn", *arrays))


def test_activate2_and_exponential_of_the_fourth_generation():
    data, shift = normal(9, 21), normal(9, 1, seed=1)
    kernel = Kernel("trn3")
    builder, tile = kernel.builder, kernel.load(data)
    squared, total = kernel.tile(data.shape), kernel.tile([9, 1])
    exponentials, mass = kernel.tile(data.shape), kernel.tile([9, 1])
    builder.activate2(
        squared,
        "square",
        tile,
        2.0,
        kernel.load(shift),
        "multiply",
        "subtract",
        reduce_op="add",
        reduce_res=total,
        reduce_cmd="reset_reduce",
    )
    builder.exponential(
        exponentials, tile, 1.5, reduce_res=mass, reduce_cmd="load_reduce", reduce_init=2.0
    )
    for view in (squared, total, exponentials, mass):
        kernel.result(view)
    squared, total, exponentials, mass = kernel.run()
    wide = data.astype(np.float64)
    expected = (2 * wide - shift) ** 2
    np.testing.assert_allclose(squared, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(total, expected.sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(exponentials, np.exp(wide - 1.5), rtol=1e-6)
    np.testing.assert_allclose(mass[:, 0], 2 + np.exp(wide - 1.5).sum(axis=1), rtol=1e-5)


def test_tensor_tensor_scan_in_reverse_operand_order():
    left, right = normal(3, 12), normal(3, 12, seed=1)
    kernel = Kernel()
    dst = kernel.tile(left.shape)
    kernel.builder.tensor_tensor_scan(
        dst,
        kernel.load(left),
        kernel.load(right),
        0.5,
        op0="subtract",
        op1="add",
        reverse0=True,
    )
    kernel.result(dst)
    value, expected = np.full(3, 0.5), []
    for i in range(12):
        value = (value - left[:, i]) + right[:, i]
        expected.append(value)
    np.testing.assert_allclose(kernel.run(), np.stack(expected, axis=1), rtol=1e-4, atol=1e-5)


def test_what_cannot_be_multiplied_is_refused():
    kernel = Kernel()
    builder = kernel.builder
    tile, psum = kernel.tile([32, 32]), builder.psum("sum", [32, 32])
    with pytest.raises(ValueError, match="perf_mode 'fast' is unknown; allowed: none, double_row"):
        builder.nc_matmul(psum, tile, tile, perf_mode="fast")
    with pytest.raises(ValueError, match="tile_position"):
        builder.nc_matmul(psum, tile, tile, tile_position=(3, 0), tile_size=(32, 128))
    with pytest.raises(NotImplementedError, match="'nc_matmul_mx' needs NeuronCore-v4"):
        builder.nc_matmul_mx(psum, tile, tile, tile, tile)
    with pytest.raises(NotImplementedError, match="'quantize_mx' needs NeuronCore-v4"):
        builder.quantize_mx(tile, tile, tile)
    with pytest.raises(NotImplementedError, match="'activate2' needs NeuronCore-v4"):
        builder.activate2(tile, "exp", tile, 1.0, None, "multiply", "")
    with pytest.raises(NotImplementedError, match="'exponential' needs NeuronCore-v4"):
        builder.exponential(tile, tile)
    with pytest.raises(TypeError, match="parameter 'bias' is 'none', not a number or a tile"):
        builder.activation(tile, "exp", tile, bias="none")
