"""nki.language: reductions, softmax, matmul, where, ... of both languages against NumPy."""

import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.language as new_nl
import numpy as np
import pytest
from isa_harness import BFLOAT16, in_hbm, integers, result_of, uniform

LANGUAGES = {"new": new_nl, "old": old_nl}
CUBE = uniform(33, 6, 7)
A = uniform(96, 50)

REDUCTIONS = {
    "sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean, "prod": np.prod, "var": np.var,
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("axis", [2, -1, [1, 2], (1, 2), 1])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_take_free_axes(name, axis, language):
    function = getattr(LANGUAGES[language], name)
    result = result_of(lambda a: function(a, axis=axis), CUBE, language=language)
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
    expected = REDUCTIONS[name](CUBE.astype(np.float64), axis=axes, keepdims=True)
    if not (name == "var" and language == "new"):
        expected = expected.reshape(33, -1)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("language", LANGUAGES)
def test_keepdims_leaves_dimensions_of_size_one(language):
    function = LANGUAGES[language].max
    result = result_of(lambda a: function(a, axis=[1, 2], keepdims=True), CUBE, language=language)
    np.testing.assert_array_equal(result, CUBE.max(axis=(1, 2), keepdims=True))


def test_windows_are_summed_over_dimensions_between_others():
    x = uniform(16, 6, 9)

    def body(a):
        p, i, k, j, m = old_nl.mgrid[0:16, 0:3, 0:2, 0:3, 0:3]
        return old_nl.sum(a[p, 2 * i + k, 3 * j + m], axis=[2, 4])

    expected = x.astype(np.float64).reshape(16, 3, 2, 3, 3).sum(axis=(2, 4))
    result = result_of(body, x, language="old")
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_is_true_where_nothing_is_zero(language):
    x = integers(40, 6, high=5).astype(np.float32)
    function = LANGUAGES[language].all
    result = result_of(lambda a: function(a, axis=1), x, language=language)
    np.testing.assert_array_equal(result[:, 0].astype(bool), (x != 0).all(axis=1))


def softmax(x, axis):
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("array", "axis"), [(A, 1), (A, -1), (CUBE, 2), (CUBE, (1, 2))])
def test_softmax(array, axis, language):
    function = LANGUAGES[language].softmax
    result = result_of(lambda a: function(a, axis=axis), array * 5, language=language)
    np.testing.assert_allclose(result, softmax(array.astype(np.float64) * 5, axis), rtol=2e-5)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("weights", [(96, 50), (1, 50)])
def test_rms_norm(weights, language):
    w = uniform(*weights)
    function = LANGUAGES[language].rms_norm
    result = result_of(lambda a, b: function(a, b, axis=1, n=50), A, w, language=language)
    x = A.astype(np.float64)
    expected = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6) * w
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16])
def test_matmul_transposes_its_first_operand_unless_it_is_transposed(dtype, language):
    function = LANGUAGES[language].matmul
    x, y = uniform(40, 72, dtype=dtype), uniform(72, 300, dtype=dtype)
    expected = x.astype(np.float64) @ y.astype(np.float64)
    plain = result_of(function, x, y, language=language)
    given = result_of(
        lambda a, b: function(a, b, transpose_x=True),
        np.ascontiguousarray(x.T),
        y,
        language=language,
    )
    np.testing.assert_allclose(plain, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("language", LANGUAGES)
def test_transpose_of_a_tile(language):
    function = LANGUAGES[language].transpose
    np.testing.assert_array_equal(result_of(function, A, language=language), A.T)


@pytest.mark.parametrize(("shape", "text"), [
    ((64, 32, 2),
        "parameter 'a_tile[64, 32, 2]' of 'transpose' exceed max supported number of dimensions "
        "of 2."),
    ((128, 512),
        "size of dimension 1 in 'a_tile[128, 512]' of 'transpose' exceed architecture limitation "
        "of 128."),
])  # fmt: skip
def test_tiles_that_cannot_be_transposed(shape, text):
    @old_nki.jit
    def kernel(a):
        a_tile = old_nl.load(a)
        return in_hbm(old_nl, old_nl.transpose(a_tile))

    with pytest.raises(ValueError) as caught:
        kernel(uniform(*shape))
    assert str(caught.value) == text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.uint8, np.uint32, np.int32])
def test_where_takes_tiles_and_numbers(language, dtype):
    where = LANGUAGES[language].where
    x, y = uniform(96, 50), uniform(96, 50)
    condition = integers(96, 50, high=2).astype(dtype)
    chosen = result_of(where, condition, x, y, language=language)
    np.testing.assert_array_equal(chosen, np.where(condition != 0, x, y))
    number = result_of(lambda c, a: where(c, a, -1.5), condition, x, language=language)
    np.testing.assert_array_equal(number, np.where(condition != 0, x, np.float32(-1.5)))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("array", [uniform(1, 700), integers(1, 64, high=1 << 30)])
def test_one_partition_is_broadcast_to_many(array, language):
    function = LANGUAGES[language].broadcast_to
    shape = (100, array.shape[1])
    result = result_of(lambda a: function(a, shape=shape), array, language=language)
    np.testing.assert_array_equal(result, np.broadcast_to(array, shape))


@pytest.mark.parametrize("language", LANGUAGES)
def test_free_dimensions_are_broadcast_and_expanded(language):
    words = LANGUAGES[language]
    column = uniform(20, 1)
    result = result_of(lambda a: words.broadcast_to(a, shape=(20, 9)), column, language=language)
    np.testing.assert_array_equal(result, np.broadcast_to(column, (20, 9)))
    wider = result_of(lambda a: words.expand_dims(a, 2), A, language=language)
    np.testing.assert_array_equal(wider, A[:, :, None])


@pytest.mark.parametrize("language", LANGUAGES)
def test_gather_flattened_takes_elements_of_each_partition(language):
    function = LANGUAGES[language].gather_flattened
    places = integers(96, 10, high=50, dtype=np.uint32)
    result = result_of(function, A, places, language=language)
    np.testing.assert_array_equal(result, np.take_along_axis(A, places.astype(np.int64), axis=1))


@pytest.mark.parametrize("language", LANGUAGES)
def test_dropout_drops_about_its_rate(language):
    function = LANGUAGES[language].dropout
    x = uniform(128, 200) + 2
    result = result_of(lambda a: function(a, 0.25), x, language=language)
    kept = result != 0
    np.testing.assert_array_equal(result[kept], x[kept])
    assert 0.2 < 1 - kept.mean() < 0.3


def test_masks_limit_what_takes_part():
    @old_nki.jit
    def kernel(a):
        out = old_nl.ndarray(a.shape, a.dtype, buffer=old_nl.shared_hbm)
        total = old_nl.ndarray((a.shape[0], 1), a.dtype, buffer=old_nl.shared_hbm)
        p, f = old_nl.mgrid[0:96, 0:50]
        tile = old_nl.load(a)
        tile[...] = old_nl.exp(tile, mask=(p < 40) & (f >= 20))
        old_nl.store(out, tile)
        old_nl.store(total, old_nl.sum(tile, axis=1, mask=(f < 20)))
        return out, total

    out, total = kernel(A)
    expected = A.copy()
    expected[:40, 20:] = np.exp(A[:40, 20:])
    np.testing.assert_allclose(out, expected, rtol=1e-5)
    np.testing.assert_allclose(total[:, 0], A[:, :20].sum(axis=1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spelling", ["b =", "b[...] ="])
def test_loop_reduce_accumulates_into_what_it_is_assigned_to(spelling):
    x = uniform(4 * 32, 20)

    @old_nki.jit
    def named(a):
        b = old_nl.zeros((32, 20), dtype=a.dtype, buffer=old_nl.sbuf)
        for i in old_nl.affine_range(4):
            tile = old_nl.load(a[old_nl.ds(i * 32, 32), 0:20])
            b = old_nl.loop_reduce(tile, op=np.add, loop_indices=[i])
        return in_hbm(old_nl, b)

    @old_nki.jit
    def indexed(a):
        b = old_nl.zeros((32, 20), dtype=a.dtype, buffer=old_nl.sbuf)
        for i in old_nl.affine_range(4):
            tile = old_nl.load(a[old_nl.ds(i * 32, 32), 0:20])
            b[...] = old_nl.loop_reduce(tile, op=np.add, loop_indices=[i])
        return in_hbm(old_nl, b)

    result = (named if spelling == "b =" else indexed)(x)
    np.testing.assert_allclose(result, x.reshape(4, 32, 20).sum(axis=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize(("op", "expected"), [(np.add, np.sum), (np.maximum, np.max)])
def test_loop_reduce_starts_with_the_first_tile_where_nothing_was_written_before(
    op, expected, blocks
):
    x = uniform(blocks * 4 * 32, 20) - 2  # all negative: a start from 0 would be the maximum

    @old_nki.jit
    def kernel(a):
        out = old_nl.ndarray((blocks, 32, 20), a.dtype, buffer=old_nl.shared_hbm)
        b = old_nl.ndarray((blocks, old_nl.par_dim(32), 20), dtype=a.dtype, buffer=old_nl.sbuf)
        for block in old_nl.affine_range(blocks):
            for i in old_nl.affine_range(4):
                tile = old_nl.load(a[old_nl.ds((block * 4 + i) * 32, 32), 0:20])
                b[block] = old_nl.loop_reduce(tile, op=op, loop_indices=[i])
            old_nl.store(out[block], b[block])
        return out

    result = kernel(x)
    np.testing.assert_allclose(
        result, expected(x.reshape(blocks, 4, 32, 20), axis=1), rtol=1e-5, atol=1e-6
    )


def test_all_reduce_of_one_program_is_its_tile():
    result = result_of(lambda a: old_nl.all_reduce(a, np.add, 0), A, language="old")
    np.testing.assert_array_equal(result, A)
