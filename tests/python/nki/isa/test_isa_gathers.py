"""nki.isa: gathers, shuffles, the eight largest values, random numbers, DMA, registers."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import BFLOAT16, in_hbm, integers, result_of, target, uniform, write

A = uniform(64, 40)


@pytest.mark.parametrize("partitions", [32, 64, 128])
def test_nc_stream_shuffle_permutes_the_partitions_of_each_quadrant(partitions):
    a = uniform(partitions, 9)
    mask = [(i + 5) % 32 for i in range(32)]
    result = write(lambda d, x: nisa.nc_stream_shuffle(d, x, mask), [a], a.shape)
    expected = a.reshape(-1, 32, 9)[:, mask].reshape(a.shape)
    np.testing.assert_array_equal(result, expected)


def test_a_shuffle_mask_of_255_leaves_a_partition_as_it_is():
    def body(dst, x):
        nisa.memset(dst, -3.0)
        nisa.nc_stream_shuffle(dst, x, [255] * 31 + [0])

    expected = np.full((32, 5), -3, np.float32)
    a = uniform(32, 5)
    expected[31] = a[0]
    np.testing.assert_array_equal(write(body, [a], a.shape), expected)


def test_a_shuffle_mask_has_32_elements():
    with pytest.raises(ValueError) as caught:
        write(lambda d, x: nisa.nc_stream_shuffle(d, x, [0] * 31), [A[:32]], (32, 40))
    assert str(caught.value) == "shuffle_mask of 'nc_stream_shuffle' has 31 elements, not 32."


def test_nc_n_gather_takes_elements_of_each_partition():
    places = integers(64, 11, high=40, dtype=np.uint32)
    result = write(lambda d, x, i: nisa.nc_n_gather(d, x, i), [A, places], (64, 11))
    np.testing.assert_array_equal(result, np.take_along_axis(A, places.astype(np.int64), 1))


def test_the_first_matches_are_replaced():
    a = np.argsort(uniform(64, 40), axis=1).astype(np.float32)

    def new(dst, x):
        largest = nl.ndarray((64, 8), nl.float32)
        nisa.max8(largest, x)
        nisa.nc_match_replace8(dst, x, largest, -1.0)

    def old(x):
        return old_nisa.nc_match_replace8(data=x, vals=old_nisa.max8(src=x), imm=-1.0)

    expected = np.where(a >= 32, np.float32(-1), a)
    np.testing.assert_array_equal(write(new, [a], a.shape), expected)
    np.testing.assert_array_equal(result_of(old, a, language="old"), expected)


def test_sequence_bounds_of_segments():
    ids = np.array([[0, 1, 1, 2, 2, 2, 0, 3, 3]], np.int32)
    expected = [[9, 1, 1, 3, 3, 3, 9, 7, 7], [-1, 3, 3, 6, 6, 6, -1, 9, 9]]
    new = write(lambda d, x: nisa.sequence_bounds(d, x), [ids], (1, 2, 9), "int32")
    old = result_of(lambda x: old_nisa.sequence_bounds(segment_ids=x), ids, language="old")
    np.testing.assert_array_equal(new[0], expected)
    np.testing.assert_array_equal(old[0], expected)


def test_random_numbers_depend_on_the_seed():
    def body(dst, seeds):
        nisa.set_rng_seed(seeds)
        nisa.rng(dst)

    def numbers(seed):
        return write(body, [np.array([[seed]], np.uint32)], (128, 64), "uint32")

    first, again, other = numbers(3), numbers(3), numbers(4)
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.9


def test_dropout_drops_about_its_probability():
    x = uniform(128, 300) + 2
    result = write(lambda d, a: nisa.dropout(d, a, 0.3), [x], x.shape)
    kept = result != 0
    np.testing.assert_array_equal(result[kept], x[kept])
    assert 0.25 < 1 - kept.mean() < 0.35
    old = result_of(lambda a: old_nisa.dropout(a, 1.0), x, language="old")
    np.testing.assert_array_equal(old, 0)


@pytest.mark.parametrize("dtype", [BFLOAT16, np.float32])
def test_dma_transpose_exchanges_dimensions(dtype):
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape[::-1], a.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(a.shape[::-1], a.dtype)
        nisa.dma_transpose(dst=tile, src=a)
        nisa.dma_copy(dst=out, src=tile)
        return out

    a = uniform(64, 96, dtype=dtype)
    np.testing.assert_array_equal(kernel(a), a.T)


def test_dma_compute_adds_tensors():
    @nki.jit
    def kernel(a, b, c):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nisa.dma_compute(out, [a, b, c], nl.add, scales=[1.0, 1.0, 1.0])
        return out

    a, b, c = (uniform(40, 9) for _ in range(3))
    np.testing.assert_allclose(kernel(a, b, c), a + b + c, rtol=1e-6, atol=1e-6)


def test_registers_hold_numbers_and_elements():
    @nki.jit
    def kernel(a):
        tile = nl.load(a)
        loaded = nisa.register_alloc(tile[0:1, 2:3])
        number = nisa.register_alloc(41)
        copy = nisa.register_alloc()
        nisa.register_move(copy, number)
        result = nl.ndarray((1, 3), nl.int32)
        for column, register in enumerate((loaded, number, copy)):
            nisa.register_store(result[0:1, column : column + 1], register)
        return in_hbm(nl, result)

    np.testing.assert_array_equal(kernel(np.array([[5, 6, 7]], np.int32)), [[7, 41, 41]])


def test_a_register_is_loaded_again_and_stored_in_hbm():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((1, 3), nl.int32, buffer=nl.shared_hbm)
        tile, register = nl.load(a), nisa.register_alloc(-3)
        nisa.register_store(out[0:1, 0:1], register)
        nisa.register_load(register, tile[0:1, 1:2])
        nisa.register_store(out[0:1, 1:2], register)
        nisa.register_load(register, a[0:1, 2:3])
        nisa.register_store(out[0:1, 2:3], register)
        return out

    np.testing.assert_array_equal(kernel(np.array([[5, 6, 7]], np.int32)), [[-3, 6, 7]])


def test_a_register_is_no_number():
    @nki.jit
    def kernel(a):
        if nisa.register_alloc(1):
            return a
        return a

    with pytest.raises(TypeError) as caught:
        kernel(A)
    assert str(caught.value).startswith("the value of a register is not known while the kernel")


def test_cores_exchange_tiles_and_wait_for_each_other():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        core = nl.program_id(0)
        mine, theirs = nl.ndarray((32, 8), a.dtype), nl.ndarray((32, 8), a.dtype)
        nisa.dma_copy(dst=mine, src=a[core * 32 : core * 32 + 32])
        nisa.sendrecv(mine, theirs, 1 - core, 1 - core, 0)
        nisa.dma_copy(dst=out[core * 32 : core * 32 + 32], src=theirs)
        nisa.core_barrier(out, (0, 1))
        return out

    a = uniform(64, 8)
    with target("trn2"):
        result = kernel[2](a)
    np.testing.assert_array_equal(result, np.concatenate([a[32:], a[:32]]))


def test_cores_wait_for_each_other_at_tiles_of_their_own():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        core = nl.program_id(0)
        count = nl.ndarray((1, 1), nl.int32)
        nisa.memset(count, 0)
        for block in range(2):
            rows = nl.ds((2 * block + core) * 16, 16)
            tile = nl.ndarray((16, 8), a.dtype)
            nisa.dma_copy(dst=tile, src=a[rows])
            nisa.dma_copy(dst=out[rows], src=tile)
            nisa.tensor_scalar(dst=count, data=count, op0=nl.add, operand0=1)
            nisa.core_barrier(count, (0, 1))
        return out

    a = uniform(64, 8)
    with target("trn2"):
        np.testing.assert_array_equal(kernel[2](a), a)


@pytest.mark.parametrize("cores", [0, (0,)])
def test_the_only_core_of_a_kernel_waits_for_none(cores):
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=a)
        nisa.core_barrier(out, cores)
        return out

    a = uniform(64, 8)
    with target("trn2"):
        np.testing.assert_array_equal(kernel(a), a)


def test_quantize_mx_and_its_product_on_trn3():
    @nki.jit
    def kernel(a, b):
        def quantized(x):
            tile = nl.load(x)
            shape = (128, tile.shape[1] // 4)
            data = nl.ndarray(shape, nl.float8_e4m3fn_x4)
            scale = nl.ndarray(shape, nl.uint8)
            nisa.memset(scale, 0)
            nisa.quantize_mx(data, tile, scale)
            return data, scale

        left, left_scale = quantized(a)
        right, right_scale = quantized(b)
        product = nl.ndarray((16, 20), nl.float32, buffer=nl.psum)
        nisa.nc_matmul_mx(product, left, right, left_scale, right_scale)
        return in_hbm(nl, product)

    a = integers(128, 64, low=-8, high=9).astype(BFLOAT16)
    b = integers(128, 80, low=-8, high=9).astype(BFLOAT16)
    with target("trn3"):
        result = kernel(a, b)
    left = a.astype(np.float64).reshape(128, 16, 4)
    right = b.astype(np.float64).reshape(128, 20, 4)
    np.testing.assert_allclose(result, np.einsum("kmj,knj->mn", left, right), rtol=1e-6)


def test_gather_flattened_is_nc_n_gather():
    places = integers(64, 6, high=40, dtype=np.uint32)
    result = result_of(old_nl.gather_flattened, A, places, language="old")
    np.testing.assert_array_equal(result, np.take_along_axis(A, places.astype(np.int64), 1))


def test_topk_of_a_snake_over_16_partitions():
    numbers = np.argsort(uniform(128)).astype(np.float32)
    snake = np.ascontiguousarray(numbers.reshape(8, 16).T).astype(BFLOAT16)

    def body(dst, a):
        values = nl.ndarray((16, 32), nl.bfloat16)
        nisa.memset(values, 0)
        nisa.memset(dst, 0)
        nisa.topk(values, dst, a, 128)

    places = write(body, [snake], (16, 32), "uint32")[:, :2].T.flatten()
    np.testing.assert_array_equal(numbers[places], np.arange(96, 128))
