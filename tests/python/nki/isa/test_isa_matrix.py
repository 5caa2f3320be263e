"""nki.isa: matrix products and transposes against NumPy."""

import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import BFLOAT16, in_hbm, integers, target, uniform, write


def product(dst, stationary, moving, **options):
    result = nl.ndarray(dst.shape, nl.float32, buffer=nl.psum)
    nisa.nc_matmul(result, stationary, moving, **options)
    nisa.tensor_copy(dst, result)


@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16, np.float16])
@pytest.mark.parametrize("sizes", [(128, 128, 512), (64, 37, 5), (1, 1, 1)])
def test_nc_matmul_is_the_product_with_the_transposed_stationary(dtype, sizes):
    k, m, n = sizes
    a, b = uniform(k, m, dtype=dtype), uniform(k, n, dtype=dtype)
    expected = a.astype(np.float64).T @ b.astype(np.float64)
    np.testing.assert_allclose(write(product, [a, b], (m, n)), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("accumulate", "times"), [(None, 3), (True, 3), (False, 1)])
def test_accumulate_adds_overwrites_or_follows_the_first_write(accumulate, times):
    a, b = uniform(32, 16), uniform(32, 24)

    def body(dst, x, y):
        total = nl.ndarray(dst.shape, nl.float32, buffer=nl.psum)
        nisa.nc_matmul(total, x, y, accumulate=False if accumulate else accumulate)
        for _ in range(2):
            nisa.nc_matmul(total, x, y, accumulate=accumulate)
        nisa.tensor_copy(dst, total)

    expected = times * (a.astype(np.float64).T @ b)
    np.testing.assert_allclose(write(body, [a, b], (16, 24)), expected, rtol=1e-5, atol=1e-5)


def transposed(engine):
    def body(dst, x):
        memory = nl.sbuf if engine is nisa.engine.vector else nl.psum
        result = nl.ndarray(dst.shape, x.dtype, buffer=memory)
        nisa.nc_transpose(result, x, engine=engine)
        nisa.tensor_copy(dst, result)

    return body


@pytest.mark.parametrize(("engine", "shape"), [
    (nisa.engine.tensor, (128, 128)), (nisa.engine.tensor, (37, 5)),
    (nisa.engine.unknown, (64, 100)), (nisa.engine.vector, (32, 32)), (nisa.engine.vector, (1, 17)),
])  # fmt: skip
def test_nc_transpose_exchanges_partitions_and_elements(engine, shape):
    a = uniform(*shape)
    np.testing.assert_array_equal(write(transposed(engine), [a], shape[::-1]), a.T)


def test_several_free_dimensions_are_transposed_as_one():
    a = uniform(16, 3, 8)
    result = write(transposed(nisa.engine.tensor), [a], (24, 16))
    np.testing.assert_array_equal(result, a.reshape(16, 24).T)


def test_a_transpose_of_integers_keeps_their_bits_on_trn2():
    a = integers(40, 20, low=-(1 << 30), high=1 << 30)
    result = write(transposed(nisa.engine.tensor), [a], (20, 40), "int32")
    np.testing.assert_array_equal(result, a.T)


def test_fp32_operands_take_four_passes_and_onezero_ones_two():
    def times(dtype, **options):
        @nki.jit
        def kernel(a, b):
            x, y = nl.load(a), nl.load(b)
            results = [nl.ndarray((128, 512), nl.float32, buffer=nl.psum) for _ in range(4)]
            for i in range(40):
                nisa.nc_matmul(results[i % 4], x, y, accumulate=False, **options)
            copy = nl.ndarray((128, 512), nl.float32)
            nisa.tensor_copy(copy, results[0])
            return in_hbm(nl, copy)

        a, b = uniform(128, 128, dtype=dtype), uniform(128, 512, dtype=dtype)
        with target("trn2"):
            steps = kernel.traced(a, b).source.steps()
        ends = {s["index"]: s["end_ns"] for s in steps if s["instruction"] == "nc_matmul"}
        last = max(ends)
        return ends[last] - ends[last - 16]  # when the engine's clock has reached its full rate

    half, full = times(BFLOAT16), times(np.float32)
    assert full / half == pytest.approx(4, rel=0.1)
    assert times(np.float32, is_moving_onezero=True) / half == pytest.approx(2, rel=0.1)
