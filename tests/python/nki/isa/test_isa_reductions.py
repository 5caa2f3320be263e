"""nki.isa: reductions, scans, activations with sums, iota and DMA against NumPy."""

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import BFLOAT16, integers, uniform, write

A, B = uniform(128, 60), uniform(128, 60)
CUBE = uniform(33, 4, 5, 6)

REDUCTIONS = {
    "add": (nl.add, np.sum), "multiply": (np.multiply, np.prod), "maximum": (nl.maximum, np.max),
    "minimum": (np.min, np.min),
}  # fmt: skip


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("axis", [3, (2, 3), (1, 2, 3), -1, 1, (1, 3), [2, 1]])
def test_tensor_reduce_reduces_free_dimensions(op, axis):
    word, oracle = REDUCTIONS[op]
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    shape = CUBE.sum(axis=axes).shape
    shape = shape if len(shape) > 1 else (*shape, 1)
    result = write(lambda d, x: nisa.tensor_reduce(d, word, x, axis), [CUBE], shape)
    expected = oracle(CUBE.astype(np.float64), axis=axes).reshape(shape)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_tensor_reduce_negates_its_result():
    result = write(
        lambda d, x: nisa.tensor_reduce(d, np.max, x, axis=1, negate=True, keepdims=True),
        [A],
        (128, 1),
    )
    np.testing.assert_array_equal(result, -A.max(axis=1, keepdims=True))


@pytest.mark.parametrize(("axis", "names"), [(0, "0"), (4, "4"), ((1, 1), "1, 1"), ((), "")])
def test_other_axes_than_free_ones_are_refused(axis, names):
    with pytest.raises(ValueError) as caught:
        write(lambda d, x: nisa.tensor_reduce(d, nl.add, x, axis), [CUBE], (33, 4))
    assert str(caught.value) == (
        f"axis ({names}) of 'tensor_reduce' must name free dimensions of operand 'data', which has "
        "4 dimensions; axis 0 (the partition axis) cannot be reduced."
    )


def scanned(a, b, initial, op0, op1):
    result, state = np.empty_like(a, dtype=np.float64), initial
    for i in range(a.shape[1]):
        state = op1(op0(a[:, i].astype(np.float64), state), b[:, i])
        result[:, i] = state
    return result


@pytest.mark.parametrize("initial", [0.0, 1.5])
def test_tensor_tensor_scan_is_a_linear_recurrence(initial):
    result = write(
        lambda d, x, y: nisa.tensor_tensor_scan(d, x, y, initial, nl.multiply, nl.add),
        [A, B],
        A.shape,
    )
    expected = scanned(A, B, initial, np.multiply, np.add)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_a_scan_starts_at_a_column():
    start = uniform(128, 1)
    result = write(
        lambda d, x, y, s: nisa.tensor_tensor_scan(d, x, y, s, np.multiply, np.subtract),
        [A, B, start],
        A.shape,
    )
    expected = scanned(A, B, start[:, 0], np.multiply, np.subtract)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


ACTIVATIONS = {
    "exp": (nl.exp, np.exp, 0), "tanh": (np.tanh, np.tanh, 0), "square": (nl.square, np.square, 0),
    "copy": (nl.copy, lambda x: x, 0), "sqrt": (nl.sqrt, np.sqrt, 1.5),
    "rsqrt": (nl.rsqrt, lambda x: 1 / np.sqrt(x), 1.5), "log": (np.log, np.log, 1.5),
    "relu": (nl.relu, lambda x: np.maximum(x, 0), 0),
    "sigmoid": (nl.sigmoid, lambda x: 1 / (1 + np.exp(-x)), 0),
    "silu": (nl.silu, lambda x: x / (1 + np.exp(-x)), 0), "abs": (np.abs, np.abs, 0),
    "sin": (np.sin, np.sin, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_applies_a_function_to_scaled_and_shifted_data(name):
    op, oracle, shift = ACTIVATIONS[name]
    x, bias = A + shift, uniform(128, 1, low=0.1, high=0.2)
    result = write(
        lambda d, a, b: nisa.activation(d, op, a, bias=b, scale=0.75), [x, bias], x.shape
    )
    expected = oracle(x.astype(np.float64) * 0.75 + bias)
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-6)


def test_activation_with_a_sum_per_partition():
    def body(dst, a):
        total = nl.ndarray((128, 1), nl.float32)
        nisa.activation(
            dst, nl.exp, a, reduce_op=nl.add, reduce_res=total,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )  # fmt: skip
        nisa.tensor_scalar(dst, dst, nl.divide, total)

    powers = np.exp(A.astype(np.float64))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(write(body, [A], A.shape), expected, rtol=1e-5)


def test_activation_goes_on_with_the_accumulator():
    def body(dst, a):
        scratch = nl.ndarray(a.shape, nl.float32)
        commands = (nisa.reduce_cmd.reset_reduce, nisa.reduce_cmd.reduce)
        for command, result in zip(commands, (None, dst), strict=True):
            nisa.activation(
                scratch, nl.copy, a, reduce_op=np.add, reduce_res=result, reduce_cmd=command
            )

    expected = 2 * A.astype(np.float64).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(write(body, [A], (128, 1)), expected, rtol=1e-4, atol=1e-5)


def test_activation_reduce_writes_function_and_sum():
    def body(dst, a):
        powers = nl.ndarray(a.shape, nl.float32)
        nisa.activation_reduce(powers, nl.square, a, reduce_op=nl.add, reduce_res=dst)

    expected = np.square(A.astype(np.float64)).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(write(body, [A], (128, 1)), expected, rtol=1e-5)


def test_a_constant_bias_needs_trn2():
    def body(dst, a):
        nisa.activation(dst, nl.exp, a, bias=1.0)

    with pytest.raises(ValueError):
        write(body, [A], A.shape, architecture="trn1")
    np.testing.assert_allclose(write(body, [A], A.shape), np.exp(A + 1.0), rtol=1e-5)


def test_iota_counts_along_partitions_and_free_dimensions():
    result = write(
        lambda d, a: nisa.iota(d, [[10, 3], [-1, 4]], offset=5, channel_multiplier=100),
        [A],
        (16, 3, 4),
        "int32",
    )
    p, i, j = np.ogrid[:16, :3, :4]
    np.testing.assert_array_equal(result, 5 + 100 * p + 10 * i - j)


def test_iota_casts_to_the_dtype_of_its_tile():
    result = write(lambda d, a: nisa.iota(d, [[1, 300]]), [A], (2, 300), BFLOAT16)
    np.testing.assert_array_equal(result, np.tile(np.arange(300), (2, 1)).astype(BFLOAT16))


def test_dma_copy_casts_gathers_and_scatters():
    import neuron_sim.nki as nki

    @nki.jit
    def kernel(data, rows):
        gathered = nl.ndarray((8, 20), data.dtype, buffer=nl.shared_hbm)
        cast = nl.ndarray(data.shape, nl.bfloat16, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=cast, src=data)
        index = nl.ndarray((8, 1), nl.int32)
        nisa.dma_copy(dst=index, src=rows)
        tile = nl.ndarray((8, 20), data.dtype)
        source = data.ap(pattern=[[20, 8], [1, 20]], vector_offset=index, indirect_dim=0)
        nisa.dma_copy(dst=tile, src=source)
        nisa.dma_copy(dst=gathered, src=tile)
        return gathered, cast

    data, rows = uniform(50, 20), integers(8, 1, high=50)
    gathered, cast = kernel(data, rows)
    np.testing.assert_array_equal(gathered, data[rows[:, 0]])
    np.testing.assert_array_equal(cast, data.astype(BFLOAT16))
