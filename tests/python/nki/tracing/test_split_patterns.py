"""Negative steps and more than four free dimensions: several instructions, the same elements."""

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.isa as old_isa
import neuron_sim.neuronxcc.nki.language as ol
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, uniform


def computed(shape, compute, dtype=np.float32):
    """An old kernel that stores compute(the tile of its argument)."""

    @old.jit
    def kernel(a):
        result = ol.ndarray(shape, dtype=dtype)
        result[...] = compute(ol.load(a))
        return in_hbm(ol, result)

    return kernel


def instructions(kernel, *arguments):
    return len(kernel.traced(*arguments).source.listing().splitlines())


@pytest.mark.parametrize(("function", "reference"), [
    (lambda x: 2.0 * x, lambda x: 2 * x),
    (lambda x: x + x, lambda x: x + x),
    (ol.exp, np.exp),
    (ol.negative, np.negative),
    (ol.floor, np.floor),
    (lambda x: old_isa.reciprocal(x), lambda x: 1 / x),
    (lambda x: old_isa.tensor_copy(x), lambda x: x),
    (lambda x: old_isa.activation(np.square, x, scale=2.0), lambda x: 4 * x * x),
    (lambda x: old_isa.tensor_scalar(x, np.add, 1.0, op1=np.multiply, operand1=3.0),
        lambda x: (x + 1) * 3),
    (
        lambda x: old_isa.scalar_tensor_tensor(data=x, op0=np.multiply, operand0=2.0,
            op1=np.subtract, operand1=x), lambda x: 2 * x - x),
])  # fmt: skip
@pytest.mark.parametrize("size", [1, 2, 7])
def test_an_elementwise_function_of_reversed_elements(function, reference, size):
    a = uniform(9, size)

    def compute(tile):
        p, f = ol.mgrid[0:9, 0:size]
        return function(tile[p, (size - 1) - f])

    got = computed((9, size), compute)(a)
    assert np.allclose(got, reference(a[:, ::-1].astype(np.float64)), rtol=2e-6, atol=1e-6)


def test_what_all_operands_walk_backwards_is_one_instruction():
    a = uniform(16, 10)

    def kernel_of(result_index):
        @old.jit
        def kernel(a):
            tile, result = ol.load(a), ol.ndarray((16, 10), dtype=a.dtype)
            p, f = ol.mgrid[0:16, 0:10]
            result[p, result_index(f)] = old_isa.tensor_copy(tile[p, 9 - f])
            return in_hbm(ol, result)

        return kernel

    backwards, mixed = kernel_of(lambda f: 9 - f), kernel_of(lambda f: f)
    assert np.array_equal(backwards(a), a)
    assert np.array_equal(mixed(a), a[:, ::-1])
    assert instructions(mixed, a) == instructions(backwards, a) + 9


def test_a_reversed_copy_of_a_tile_into_itself_reads_all_before_it_writes():
    a = uniform(5, 8)

    @old.jit
    def kernel(a):
        tile = ol.load(a)
        p, f = ol.mgrid[0:5, 0:8]
        tile[p, f] = old_isa.tensor_copy(tile[p, 7 - f])
        return in_hbm(ol, tile)

    assert np.array_equal(kernel(a), a[:, ::-1])


def test_numbers_and_columns_beside_reversed_elements_stay_whole():
    a, column = uniform(6, 4), uniform(6, 1)

    @old.jit
    def kernel(a, column):
        tile, scale = ol.load(a), ol.load(column)
        p, f = ol.mgrid[0:6, 0:4]
        result = ol.ndarray((6, 4), dtype=a.dtype)
        result[p, 3 - f] = old_isa.tensor_scalar(tile[p, f], np.multiply, scale)
        return in_hbm(ol, result)

    assert np.array_equal(kernel(a, column), (a * column)[:, ::-1])


def test_a_mask_narrows_reversed_elements():
    a = uniform(6, 9)

    @old.jit
    def kernel(a):
        tile, result = ol.load(a), ol.zeros((6, 9), dtype=a.dtype)
        p, f = ol.mgrid[0:6, 0:9]
        result[p, f] = ol.copy(tile[p, 8 - f], mask=f < 5)
        return in_hbm(ol, result)

    assert np.array_equal(kernel(a)[:, :5], a[:, ::-1][:, :5])


def test_rows_and_columns_of_hbm_may_be_walked_backwards():
    a = uniform(7, 5)

    @old.jit
    def kernel(a):
        out = ol.ndarray((7, 5), dtype=a.dtype, buffer=ol.shared_hbm)
        p, f = ol.mgrid[0:7, 0:5]
        ol.store(out[p, 4 - f], ol.load(a[6 - p, f]))
        return out

    assert np.array_equal(kernel(a), a[::-1, ::-1])


def test_reversed_elements_that_leave_the_tile_are_out_of_bounds():
    def compute(tile):
        p, f = ol.mgrid[0:4, 0:6]
        return tile[p, 4 - f] + 1.0

    with pytest.raises(IndexError, match=r"dimension 1: index range \[-1, 4\] exceed .* of 6"):
        computed((4, 6), compute)(uniform(4, 6))


def test_a_variable_of_a_counted_loop_moves_reversed_elements():
    a = uniform(4, 12)

    @old.jit
    def kernel(a):
        tile, result = ol.load(a), ol.ndarray((4, 12), dtype=a.dtype)
        p, f = ol.mgrid[0:4, 0:3]
        for i in ol.sequential_range(4):
            result[p, i * 3 + f] = old_isa.tensor_copy(tile[p, 11 - 3 * i - f])
        return in_hbm(ol, result)

    assert np.array_equal(kernel(a), a[:, ::-1])


SIX = (2, 3, 2, 2, 3, 2)


def spread(tile, sizes, steps, first=0):
    """tile[p, first + sum of step * index] for six free indices."""
    grid = ol.mgrid[tuple(slice(0, size) for size in (tile.shape[0], *sizes))]
    position = first
    for step, index in zip(steps, grid[1:], strict=True):
        position = position + step * index
    return tile[grid[0], position]


def strided(a, sizes, steps, first=0):
    index = first + sum(
        step * np.arange(size).reshape([-1 if d == k else 1 for k in range(len(sizes))])
        for d, (size, step) in enumerate(zip(sizes, steps, strict=True))
    )
    return a[:, index]


@pytest.mark.parametrize(
    "steps", [(70, 20, 9, 4, 1, 1), (70, 1, 9, 5, 2, 0), (-70, 20, -9, 4, 1, 3)]
)
def test_six_free_dimensions_of_an_operand(steps):
    a = uniform(3, 200)
    first = sum(-step * (size - 1) for step, size in zip(steps, SIX, strict=True) if step < 0)

    def compute(tile):
        return spread(tile, SIX, steps, first) * 3.0

    got = computed((3, *SIX), compute)
    assert np.array_equal(got(a), 3 * strided(a, SIX, steps, first))


def test_dimensions_that_merge_need_no_further_instruction():
    a = uniform(3, 200)
    whole = computed((3, *SIX), lambda tile: spread(tile, SIX, (72, 24, 12, 6, 2, 1)) + 1.0)
    apart = computed((3, *SIX), lambda tile: spread(tile, SIX, (70, 20, 9, 5, 1, 7)) + 1.0)
    assert np.array_equal(whole(a), strided(a, SIX, (72, 24, 12, 6, 2, 1)) + 1)
    # Six dimensions, of which the smallest two become instructions: 2 x 2 instead of one.
    assert instructions(apart, a) == instructions(whole, a) + 3


def test_six_free_dimensions_of_a_destination():
    a = uniform(4, 64)

    @old.jit
    def kernel(a):
        tile, result = ol.load(a), ol.ndarray((4, 64), dtype=a.dtype)
        p, *bits = ol.mgrid[0:4, 0:2, 0:2, 0:2, 0:2, 0:2, 0:2]
        backwards = sum(bit * (1 << k) for k, bit in enumerate(bits))
        forwards = sum(bit * (32 >> k) for k, bit in enumerate(bits))
        result[p, backwards] = ol.exp(tile[p, forwards])
        return in_hbm(ol, result)

    order = [int(f"{i:06b}"[::-1], 2) for i in range(64)]
    assert np.allclose(kernel(a)[:, order], np.exp(a), rtol=2e-6)


@pytest.mark.parametrize("reduce", [ol.sum, ol.max])
def test_a_reduction_of_six_free_dimensions_reads_a_copy(reduce):
    a = uniform(4, 6 * 8 * 10)
    reference = {ol.sum: np.sum, ol.max: np.max}[reduce]

    def compute(tile):
        volume = tile.reshape((4, 6, 8, 10))
        p, i, j, k, x, y, z = ol.mgrid[0:4, 0:3, 0:4, 0:5, 0:2, 0:2, 0:2]
        return reduce(volume[p, 2 * i + x, 2 * j + y, 2 * k + z], axis=(4, 5, 6))

    blocks = a.reshape(4, 3, 2, 4, 2, 5, 2).astype(np.float64)
    got = computed((4, 3, 4, 5), compute)(a)
    assert np.allclose(got, reference(blocks, axis=(2, 4, 6)), rtol=1e-6, atol=1e-6)


def test_the_result_of_a_reduction_may_be_written_backwards():
    a = uniform(4, 6, 5)

    @old.jit
    def kernel(a):
        result = ol.ndarray((4, 6), dtype=a.dtype)
        p, f = ol.mgrid[0:4, 0:6]
        result[p, 5 - f] = ol.max(ol.load(a), axis=2)
        return in_hbm(ol, result)

    assert np.array_equal(kernel(a), a.max(2)[:, ::-1])


def test_a_tensor_of_seven_dimensions_in_hbm_is_loaded_in_several_transfers():
    shape = (4, 2, 3, 2, 2, 2, 3)
    a = uniform(*shape)

    @old.jit
    def kernel(a):
        out = ol.ndarray((4, 2, 2, 2, 2, 2, 2), dtype=a.dtype, buffer=ol.shared_hbm)
        grid = ol.mgrid[0:4, 0:2, 0:2, 0:2, 0:2, 0:2, 0:2]
        p, b, c, d, e, f, g = grid
        ol.store(out[p, b, c, d, e, f, g], ol.load(a[p, b, c + 1, 1 - d, e, f, 2 * g]))
        return out

    assert np.array_equal(kernel(a), a[:, :, 1:, ::-1, :, :, ::2])


def test_the_new_language_takes_negative_steps_and_six_free_dimensions():
    a = uniform(4, 64)

    @nki.jit
    def kernel(a):
        out = nl.ndarray((4, 64), dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((4, 64), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a.ap([[64, 4], [-1, 64]], offset=63))
        result = nl.ndarray((4, 2, 2, 2, 2, 2, 2), dtype=a.dtype, buffer=nl.sbuf)
        bits = [[1 << k, 2] for k in range(6)]
        nisa.tensor_scalar(
            dst=result, data=tile.ap([[64, 4], *bits]), op0=nl.multiply, operand0=2.0
        )
        nisa.dma_copy(dst=out, src=result.reshape((4, 64)))
        return out

    order = [int(f"{i:06b}"[::-1], 2) for i in range(64)]
    assert np.array_equal(kernel(a), 2 * a[:, ::-1][:, order])


def test_an_instruction_that_is_not_elementwise_refuses_a_negative_step():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((4, 1), dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.load(a)
        result = nl.ndarray((4, 1), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=result, op=nl.add, data=tile.ap([[8, 4], [-1, 8]], offset=7), axis=1)
        nisa.dma_copy(dst=out, src=result)
        return out

    with pytest.raises(
        ValueError, match="access pattern of tensor 'tile': dimension 1 has step -1"
    ):
        kernel(uniform(4, 8))
