"""Tensors of the old language: creation, blocks, methods, assignment, arguments and results."""

import ml_dtypes
import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import neuron_sim.neuronxcc.nki.typing as nt
import numpy as np
import pytest
from isa_harness import in_hbm, uniform
from nki_errors import error_of

RANDOM = np.random.default_rng(4)


def stored(make, shape, dtype=np.float32):
    """What a kernel stores that makes a tile."""

    @nki.jit
    def kernel():
        return in_hbm(nl, make())

    return kernel()


@pytest.mark.parametrize("make, expected", [
    (lambda: nl.zeros((3, 4), dtype=nl.float32), 0),
    (lambda: nl.ones((3, 4), dtype=np.float32, buffer=nl.sbuf), 1),
    (lambda: nl.full((3, 4), -2.5, dtype="float32", buffer=nl.psum), -2.5),
    (lambda: nl.zeros_like(nl.ones((3, 4), dtype=nl.float32)), 0),
    (lambda: nl.load(nl.shared_constant(np.full((3, 4), 7.0))), 7),
])  # fmt: skip
def test_tiles_of_one_value(make, expected):
    assert np.array_equal(stored(make, (3, 4)), np.full((3, 4), expected, np.float32))


def test_an_identity_matrix_is_a_constant():
    identity = stored(lambda: nl.load(nl.shared_identity_matrix(5)), (5, 5), np.uint8)
    assert np.array_equal(identity, np.identity(5, np.uint8))


def test_partitions_are_limited_to_128():
    assert stored(lambda: nl.zeros((128, 2), dtype=nl.float32), (128, 2)).shape == (128, 2)
    for make in (nl.zeros, nl.ones, nl.ndarray):
        assert error_of(stored, lambda make=make: make((129, 2), dtype=nl.float32), (129, 2)) == (
            "number of partitions 129 exceed architecture limitation of 128."
        )
    assert error_of(
        stored, lambda: nl.zeros((2, nl.par_dim(256), 2), dtype=nl.float32), (256, 2)
    ) == ("number of partitions 256 exceed architecture limitation of 128.")


@pytest.mark.parametrize("buffer", [nl.sbuf, nl.psum])
@pytest.mark.parametrize("columns", [1, 3, 200])
def test_tensors_with_blocks_hold_every_block(buffer, columns):
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        blocks = nl.zeros((2, 3, nl.par_dim(16), a.shape[3]), dtype=a.dtype, buffer=buffer)
        for i in nl.affine_range(2):
            for j in nl.affine_range(3):
                p, f = nl.arange(16)[:, None], nl.arange(a.shape[3])[None, :]
                blocks[i, j, p, f] = nl.copy(nl.load(a[i, j, p, f]))
        for i in nl.affine_range(2):
            block = blocks[i]
            for j in nl.affine_range(3):
                nl.store(out[i, j], block[j])
        return out

    a = uniform(2, 3, 16, columns)
    assert np.array_equal(kernel(a), a)
    assert kernel.traced(a).source.instructions <= 12


def test_a_tensor_with_blocks_is_no_tile():
    def make():
        a = nl.zeros((4, nl.par_dim(8), 8), dtype=nl.float32)
        return nl.copy(a)

    assert error_of(stored, make, (8, 8)).startswith("Failed to infer tile from tensor 'a'")


def test_methods_of_tensors():
    @nki.jit
    def kernel(a):
        tile = nl.load(a)
        assert (tile.shape, tile.ndim, tile.dtype, tile.itemsize) == ((4, 6), 2, np.float32, 4)
        blocks = tile.reshape((4, 2, 3)).assert_shape((4, 2, 3))
        row = blocks[:, 1, 0:1].broadcast_to((4, 3))
        out_tile = nl.ndarray((4, 6), dtype=a.dtype)
        out_tile[:, 0:3] = row
        out_tile[:, 3:6] = tile.expand_dims(1)[:, 0, 0:3].astype(nl.bfloat16)
        return in_hbm(nl, out_tile)

    a = uniform(4, 6)
    expected = np.concatenate(
        [np.repeat(a[:, 3:4], 3, 1), a[:, :3].astype(ml_dtypes.bfloat16).astype(np.float32)], 1
    )
    assert np.array_equal(kernel(a), expected)


def test_a_view_of_another_dtype_shares_the_bytes():
    @nki.jit
    def kernel(a):
        return in_hbm(nl, nl.load(a).view(nl.int16))

    a = uniform(4, 6)
    assert np.array_equal(kernel(a), a.view(np.int16))


def test_an_assignment_broadcasts_free_dimensions_only():
    @nki.jit
    def kernel(a, b, wrong):
        x, y = nl.load(a), nl.load(b)
        if wrong:
            y[...] = x
        x[...] = y
        return in_hbm(nl, x)

    a, b = uniform(128, 512), uniform(128, 1)
    assert np.array_equal(kernel(a, b, False), np.broadcast_to(b, (128, 512)))
    assert error_of(kernel, a, b, True) == (
        "Illegal assignment destination shape in 'a = b': shape [128, 1] of parameter 'a' is "
        "smaller than other parameter shapes b[128, 512]."
    )


def test_a_tensor_has_no_truth_value():
    def make():
        tile = nl.zeros((4, 4), dtype=nl.float32)
        return tile if tile else tile

    assert "truth value" in error_of(stored, make, (4, 4))


def test_load_and_store_say_which_memory_they_need():
    assert error_of(stored, lambda: nl.load(nl.zeros((4, 4), dtype=nl.float32)), (4, 4)) == (
        "Expected operand 'src' of 'load' to be in address space 'hbm', but got a tile in 'sbuf' "
        "instead."
    )


def test_an_argument_is_read_only_unless_it_is_annotated():
    def body(a):
        nl.store(a, nl.load(a) + 1)
        return a

    @nki.jit
    def immutable(a):
        return body(a)

    @nki.jit
    def mutable(a: nt.mutable_tensor):
        return body(a)

    a = uniform(4, 4)
    before = a.copy()
    assert error_of(immutable, a).startswith("Cannot update immutable parameter `a`")
    assert np.array_equal(a, before)
    assert mutable(a) is a
    assert np.array_equal(a, before + 1)


def test_a_kernel_without_a_result_writes_its_arguments():
    def kernel(a, out):
        nl.store(out, nl.load(a) * 3)

    a, out = uniform(4, 4), np.zeros((4, 4), np.float64)
    nki.simulate_kernel(kernel, a, out)
    assert np.array_equal(out, (3 * a).astype(np.float64))


def test_several_results_and_hbm_tensors_that_are_returned():
    @nki.jit
    def kernel(a, unused, scale=2.0, *, names=("x",)):
        one = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.hbm)
        two = nl.ndarray((4, 1), dtype=nl.bfloat16, buffer=nl.shared_hbm)
        scratch = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.private_hbm)
        nl.store(scratch, nl.load(a) * scale)
        nl.store(one, nl.load(scratch))
        nl.store(two, len(names))
        return one, [two, scale]

    a = uniform(4, 4)
    one, (two, scale) = kernel(a, uniform(3), scale=0.5, names=("x", "y"))
    assert np.array_equal(one, a / 2)
    assert two.dtype == ml_dtypes.bfloat16 and np.array_equal(two, np.full((4, 1), 2, two.dtype))
    assert scale == 0.5


@pytest.mark.parametrize(
    "dtype",
    [np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.uint8, np.int32, np.uint16, np.bool_]
    + [ml_dtypes.float8_e4m3, ml_dtypes.float8_e5m2],
)
def test_every_dtype_passes_through(dtype):
    @nki.jit
    def kernel(a):
        return in_hbm(nl, nl.copy(nl.load(a)))

    a = RANDOM.integers(0, 2, (5, 7)).astype(dtype)
    result = kernel(a)
    assert result.dtype == np.dtype(dtype) and np.array_equal(result, a)


def test_arrays_that_are_not_contiguous_or_wider_are_converted():
    @nki.jit
    def kernel(a):
        return in_hbm(nl, nl.load(a))

    a = np.arange(48, dtype=np.float64).reshape(6, 8)
    assert np.array_equal(kernel(a[::2, 1::3].T), a[::2, 1::3].T)
    assert kernel(a).dtype == np.float32
    assert np.array_equal(kernel(np.broadcast_to(a[0], (3, 8))), np.broadcast_to(a[0], (3, 8)))


def test_hbm_tensors_may_have_more_dimensions_than_an_access_pattern():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(2):
            nl.store(out[i, 0, 1, 0, :, :, :], nl.load(a[i, 0, 1, 0]))
        return out

    a = uniform(2, 2, 2, 2, 3, 4, 5)
    result = kernel(a)
    assert np.array_equal(result[:, 0, 1, 0], a[:, 0, 1, 0])


def test_rows_are_gathered_and_scattered_by_a_tile_of_indices():
    @nki.jit
    def kernel(table, index, scattered: nt.mutable_tensor):
        out = nl.ndarray((6, 5), dtype=table.dtype, buffer=nl.shared_hbm)
        p, f = nl.arange(6)[:, None], nl.arange(5)[None, :]
        rows = nl.load(index[p])
        tile = nl.load(table[rows[p, 0], f])
        nl.store(out, tile)
        nl.store(scattered[rows, f], tile)
        return out, scattered

    table, index = uniform(4, 5), np.array([3, 0, 1, 3, 2, 2], np.int32)
    scattered = np.zeros((4, 5), np.float32)
    out, scattered = kernel(table, index, scattered)
    assert np.array_equal(out, table[index]) and np.array_equal(scattered, table)


def test_a_transposed_load_is_that_of_numpy():
    @nki.jit
    def kernel(a):
        return in_hbm(nl, nl.load_transpose2d(a))

    a = uniform(300, 128)
    assert np.array_equal(kernel(a), a.T)
    assert error_of(kernel, uniform(4, 129)) == (
        "number of partition in src[129, 4] of 'load_transpose2d' exceed architecture limitation "
        "of 128."
    )


def test_a_vector_is_loaded_one_element_per_partition():
    @nki.jit
    def kernel(a, b):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for m in nl.affine_range(2):
            rows = slice(m * 100, (m + 1) * 100)
            tile = nl.load(a[rows]) + nl.load(b[rows])
            assert tile.shape == (100, 1)
            nl.store(out[rows], tile)
        return out

    a, b = uniform(200), uniform(200)
    assert np.array_equal(kernel(a, b), a + b)

    @nki.jit
    def whole(src):
        return nl.load(src)

    assert error_of(whole, uniform(12800)) == (
        "number of partition in src[12800, 1] of 'load' exceed architecture limitation of 128."
    )


def test_declared_tensors_stand_for_zeros():
    @nki.jit
    def kernel(a):
        return in_hbm(nl, nl.load(a) + 1)

    assert kernel(nt.tensor[[4, 6], np.float32]).dtype == np.float32
    result = kernel(nt.tensor[[4, 6], nl.bfloat16])
    assert result.dtype == ml_dtypes.bfloat16 and np.array_equal(result, np.ones((4, 6)))


def test_a_number_may_be_assigned_where_engines_do_not_start():
    @nki.jit
    def kernel():
        tile = nl.zeros((40, 6), dtype=nl.int32)
        for i in nl.static_range(40):
            tile[i, i % 6] = i
        return in_hbm(nl, tile)

    expected = np.zeros((40, 6), np.int32)
    expected[range(40), np.arange(40) % 6] = range(40)
    assert np.array_equal(kernel(), expected)


def test_the_simulation_returns_tiles_and_takes_arguments_for_true():
    def kernel(a, b=None):
        tile = nl.load(a)
        return tile * 2 if b else tile

    a = uniform(4, 4)
    assert np.array_equal(nki.simulate_kernel(kernel, a), a)
    assert np.array_equal(nki.simulate_kernel(kernel, a, b=a), 2 * a)
    assert error_of(nki.jit(kernel), a).startswith("a kernel returns tensors in hbm, but `tile`")
