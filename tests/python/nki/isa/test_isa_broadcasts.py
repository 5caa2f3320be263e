"""Operands with repeated elements: limits count the elements that lie in memory."""

import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, uniform
from nki_errors import error_of

A, COLUMNS = uniform(128, 9216), uniform(128, 48)


def product(repeats):
    """A kernel that multiplies by COLUMNS in PSUM, repeated along the free dimension."""

    @nki.jit
    def kernel(a, columns):
        factors = nl.ndarray((128, 48), dtype=nl.float32, buffer=nl.psum)
        nisa.tensor_copy(dst=factors, src=nl.load(columns))
        tile = nl.load(a[:, 0 : repeats * 48]).reshape((128, repeats, 48))
        result = nl.ndarray((128, repeats, 48), dtype=nl.float32, buffer=nl.sbuf)
        repeated = factors.expand_dim(1).broadcast(1, repeats)
        nisa.tensor_tensor(dst=result, data1=tile, data2=repeated, op=nl.multiply)
        return in_hbm(nl, result)

    return kernel


@pytest.mark.parametrize("repeats", [85, 86, 192])  # 4,096 elements of fp32 fill a partition
def test_a_repeated_operand_in_psum_may_have_more_elements_than_psum(repeats):
    expected = A[:, : repeats * 48].reshape(128, repeats, 48) * COLUMNS[:, None, :]
    assert np.array_equal(product(repeats)(A, COLUMNS), expected)


def test_an_operand_in_psum_that_is_not_repeated_is_limited_by_psum():
    @nki.jit
    def kernel(columns):
        halves = nl.ndarray((128, 4097), dtype=nl.bfloat16, buffer=nl.psum)
        nisa.memset(dst=halves[:, 0:columns], value=0.0)

    kernel.traced(4096)
    assert error_of(kernel.traced, 4097).startswith(
        "number of elements per partition 4097 in 'dst[128, 4097]' of 'memset' exceed architecture "
        "limitation of 4096 in psum."
    )


@pytest.mark.parametrize(
    "value", [-3.4028235e38, float(np.finfo(np.float32).min), np.finfo(np.float32).min]
)
def test_the_value_of_unselected_elements_is_compared_as_fp32(value):
    @nki.jit
    def kernel(a):
        tile = nl.load(a[:, 0:64])
        low, high = nl.full((128, 1), 3.0, nl.float32), nl.full((128, 1), 9.0, nl.float32)
        result = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.range_select(
            dst=result, on_true_tile=tile, comp_op0=nl.greater_equal, comp_op1=nl.less,
            bound0=low, bound1=high, on_false_value=value,
        )  # fmt: skip
        return in_hbm(nl, result)

    expected = np.full((128, 64), np.finfo(np.float32).min)
    expected[:, 3:9] = A[:, 3:9]
    assert np.array_equal(kernel(A), expected)


def test_columns_of_one_bank_are_added_up_in_turns():
    """As nki-library's attention backward does on hardware; the old compiler has [SCH713]."""
    x, y = uniform(128, 64), uniform(128, 512)

    @nki.jit
    def kernel(x, y):
        stationary, moving = nl.load(x), nl.load(y)
        sums = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.psum)
        nisa.memset(dst=sums, value=0.0)
        for k in range(2):
            for half in range(2):
                first = k * 256 + half * 128
                nisa.nc_matmul(
                    dst=sums[:, half * 128 : half * 128 + 128], stationary=stationary,
                    moving=moving[:, first : first + 128],
                )  # fmt: skip
        return in_hbm(nl, nl.copy(sums))

    assert np.allclose(kernel(x, y), x.T @ (y[:, :256] + y[:, 256:]), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", [nl.bfloat16, nl.float16, nl.float32], ids=str)
def test_scalar_tensor_tensor_reads_a_column_of_any_floating_dtype(dtype):
    @nki.jit
    def kernel(a):
        tile = nl.load(a)
        factor = nl.copy(tile[:, 0:1], dtype=dtype)
        result = nl.ndarray((128, 48), dtype=a.dtype, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=result, data=tile, op0=nl.multiply, operand0=factor, op1=nl.add, operand1=tile
        )
        return in_hbm(nl, result)

    factor = COLUMNS[:, :1].astype(dtype.numpy).astype(np.float32)
    assert np.array_equal(kernel(COLUMNS), COLUMNS * factor + COLUMNS)
