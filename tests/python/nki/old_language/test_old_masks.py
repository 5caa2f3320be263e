"""Masks: what they leave of a tile, where it depends on loops, where it is no rectangle."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, uniform
from neuron_sim.nki.tracing import boxes
from nki_errors import error_of

P, F = nl.arange(6)[:, None], nl.arange(9)[None, :]


def kept(mask, shape=(6, 9)):
    """The elements that a mask leaves, by its boxes; each at most once."""
    result = np.zeros(shape, int)
    cut = boxes(mask, shape)
    for box in [tuple((0, size) for size in shape)] if cut is None else cut:
        result[tuple(slice(start, start + size) for start, size in box)] += 1
    assert result.max(initial=0) <= 1
    return result.astype(bool)


p, f = np.ogrid[0:6, 0:9]


@pytest.mark.parametrize(
    "mask, expected", [(P < 4, p < 4), (P >= 5, p >= 5), (F > 7, f > 7), (2 * F < 7, 2 * f < 7),
        (2 * F <= 7, 2 * f <= 7), (7 < 3 * F, 3 * f > 7), (P == 3, p == 3),
        ((P < 4) & (F >= 2) & (F < 8), (p < 4) & (f >= 2) & (f < 8)), (P >= F, p >= f),
        (P * 9 + F < 31, p * 9 + f < 31), ((P + F < 7) & (F > 1), (p + f < 7) & (f > 1)),
        (~(P < 2), p >= 2), (P < 0, p < 0)],
)  # fmt: skip
def test_a_mask_leaves_what_numpy_says(mask, expected):
    assert np.array_equal(kept(mask), np.broadcast_to(expected, (6, 9)))


def test_masks_are_joined_with_and_only():
    assert error_of(lambda: (P < 2) | (F < 2)) == (
        "masks are joined with `&`; `|` is not supported."
    )


def test_of_masks_joined_by_and_the_last_one_counts():
    joined = (P < 2) and (F < 2)
    assert np.array_equal(kept(joined), np.broadcast_to(f < 2, (6, 9)))
    message = "Control-flow depending on `nl.arange` or `nl.mgrid` is not supported."
    assert error_of(lambda: 1 if (P < 2) and (F < 2) else 0) == message


@nki.jit
def halves(a):
    """Tiles of 128 rows, the last one partial; the loop depends on the mask."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range((a.shape[0] + 127) // 128):
        rows = i * 128 + nl.arange(128)[:, None]
        columns = nl.arange(a.shape[1])[None, :]
        tile = nl.load(a[rows, columns], mask=rows < a.shape[0])
        nl.store(out[rows, columns], tile * 0.5, mask=rows < a.shape[0])
    return out


@pytest.mark.parametrize("rows", [1, 127, 128, 129, 300])
def test_a_partial_tile_is_loaded_and_stored_by_mask(rows):
    a = uniform(rows, 5)
    assert np.array_equal(halves(a), a / 2)


def test_only_a_loop_whose_mask_cuts_is_unrolled():
    assert halves.traced(uniform(256, 5)).source.instructions == 3
    assert halves.traced(uniform(300, 5)).source.instructions == 9


def test_a_mask_may_end_beyond_the_tensor_it_protects():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((64, 100), dtype=a.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.arange(128)[:, None], nl.arange(512)[None, :]
        tile = nl.load(a[rows, columns])
        nl.store(out[rows, columns], tile[rows, columns], mask=(rows < 64) & (columns < 100))
        return out

    a = uniform(128, 512)
    assert np.array_equal(kernel(a), a[:64, :100])


@pytest.mark.parametrize("number", [int, np.int64])
def test_a_comparison_of_numbers_is_a_mask_of_all_or_nothing(number):
    """The variable of a loop of one iteration is a number, and NumPy computes sizes."""

    @nki.jit
    def kernel(a, b, last):
        out = nl.ndarray((5, 7), dtype=a.dtype, buffer=nl.shared_hbm)
        sums = nl.zeros((5, 7), dtype=nl.float32, buffer=nl.psum)
        stationary, moving = nl.load(a), nl.load(b)
        for i in nl.affine_range(1):
            sums[...] += nki.isa.nc_matmul(stationary[i < number(4)], moving[i >= number(0)])
        nl.store(out, sums)
        nl.store(out[0:1], sums[0:1] + 1, mask=number(last) < 3)
        return out

    a, b = uniform(6, 5), uniform(6, 7)
    product = kernel(a, b, 3)
    assert np.allclose(product, a.T @ b, rtol=1e-5)
    assert np.array_equal(kernel(a, b, 2)[0], product[0] + 1)


def test_an_operand_of_which_a_mask_leaves_nothing_is_refused():
    @nki.jit
    def kernel(a):
        tile = nl.load(a)
        return tile[a.shape[0] > 9]

    message = error_of(kernel, uniform(6, 5), kind=IndexError)
    assert message.endswith("leaves 0 rectangles.")


def test_a_triangle_is_copied_column_by_column():
    @nki.jit
    def kernel(a):
        rows, columns = nl.arange(5)[:, None], nl.arange(5)[None, :]
        tile = nl.zeros((5, 5), dtype=a.dtype)
        tile[rows, columns] = nl.copy(nl.load(a), mask=rows <= columns)
        return in_hbm(nl, tile)

    a = uniform(5, 5)
    assert np.array_equal(kernel(a), np.triu(a))


def test_a_condition_on_an_index_tensor_is_refused():
    @nki.jit
    def kernel(a):
        j = nl.arange(4)[None, :]
        if j > 2:
            pass
        return a

    assert error_of(kernel, uniform(4, 4)) == (
        "Control-flow depending on `nl.arange` or `nl.mgrid` is not supported."
    )


def test_a_tile_is_no_mask():
    @nki.jit
    def kernel(a):
        nl.load(a, mask=nl.load(a))
        return a

    assert error_of(kernel, uniform(4, 4)).endswith(
        "NKI mask expressions must be affine expressions of static loop indices."
    )


COMPLETED = uniform(128, 128)


def completed(make, dtype=nl.float32):
    """A kernel that fills a target of make() by two results whose masks complement each other."""

    @nki.jit
    def kernel(a):
        row, column = nl.arange(128)[:, None], nl.arange(128)[None, :]
        tile = nl.load(a)
        target = make()
        target[...] = nisa.affine_select(
            pred=(row >= column), on_true_tile=tile[row, column], on_false_value=-9.0,
            mask=(column < 64), dtype=dtype,
        )  # fmt: skip
        target[...] = nisa.tensor_copy(tile[row, column], mask=(column >= 64), dtype=dtype)
        return in_hbm(nl, nl.copy(target.reshape((128, 128)), dtype=nl.float32))

    return kernel


@pytest.mark.parametrize("make", [
    lambda: nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf),
    lambda: nl.ndarray((128, 128), dtype=nl.float16, buffer=nl.sbuf),
    lambda: nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum),
    lambda: nl.ndarray((128, 1, 128), dtype=nl.float32, buffer=nl.sbuf),
    lambda: nl.ndarray((128, 3, 128), dtype=nl.float32, buffer=nl.sbuf)[:, 1, :],
    lambda: nl.ndarray((2, nl.par_dim(128), 128), dtype=nl.float32, buffer=nl.sbuf)[1],
], ids=["same", "another dtype", "psum", "another shape", "slice", "block"])  # fmt: skip
def test_results_with_complementary_masks_complete_one_tile(make):
    row, column = np.ogrid[0:128, 0:128]
    expected = np.where((row >= column) | (column >= 64), COMPLETED, -9)
    assert np.allclose(completed(make)(COMPLETED), expected, rtol=1e-3)


def test_a_masked_load_leaves_the_rest_of_another_dtypes_tile():
    @nki.jit
    def kernel(a):
        tile = nl.full((6, 9), 7.0, dtype=nl.float16)
        tile[...] = nl.load(a, mask=(F < 4), dtype=nl.float32)
        return in_hbm(nl, tile)

    a = uniform(6, 9)
    expected = np.where(np.arange(9) < 4, a.astype(np.float16), 7)
    assert np.array_equal(kernel(a), expected)
