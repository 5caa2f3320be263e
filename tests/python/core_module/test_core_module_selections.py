"""Builder: affine_select, range_select, select_reduce and the copies that choose."""

import numpy as np
import pytest
from core_module_kernel import Kernel, normal

LOWEST = np.finfo(np.float32).min


def test_affine_select_keeps_a_triangle():
    data = normal(9, 13)
    kernel = Kernel()
    dst = kernel.tile(data.shape)
    kernel.builder.affine_select(
        dst, [[-1, 13]], 1, kernel.load(data), -7.0, cmp_op="greater_equal", offset=2
    )
    kernel.result(dst)
    p, i = np.mgrid[:9, :13]
    np.testing.assert_array_equal(kernel.run(), np.where(2 + p - i >= 0, data, -7.0))


@pytest.mark.parametrize("bounds", [(2, 9), (0, 13), (5, 5)])
def test_range_select_keeps_a_range_and_its_maximum(bounds):
    data = normal(7, 13)
    low, high = (np.full((7, 1), bound, np.float32) for bound in bounds)
    kernel = Kernel()
    dst, largest = kernel.tile(data.shape), kernel.tile([7, 1])
    kernel.builder.range_select(
        dst,
        kernel.load(data),
        "greater_equal",
        "less",
        kernel.load(low),
        kernel.load(high),
        reduce_res=largest,
        range_start=1,
    )
    kernel.result(dst)
    kernel.result(largest)
    position = np.arange(13) + 1
    expected = np.where((position >= bounds[0]) & (position < bounds[1]), data, LOWEST)
    chosen, maximum = kernel.run()
    np.testing.assert_array_equal(chosen, expected)
    np.testing.assert_array_equal(maximum, expected.max(axis=1, keepdims=True))


@pytest.mark.parametrize("reverse", [False, True])
def test_select_reduce_takes_a_tile_or_a_number(reverse):
    data, other = normal(5, 11), normal(5, 1, seed=1)
    predicate = (np.arange(55).reshape(5, 11) % 3 == 0).astype(np.uint8)
    chosen = (predicate != 0) != reverse
    for on_false in (other, -2.5):
        kernel = Kernel()
        dst, largest = kernel.tile(data.shape), kernel.tile([5, 1])
        kernel.builder.select_reduce(
            dst,
            kernel.load(predicate),
            kernel.load(data),
            kernel.load(on_false) if on_false is other else on_false,
            reduce_res=largest,
            reduce_cmd="reset_reduce",
            reverse_pred=reverse,
        )
        kernel.result(dst)
        kernel.result(largest)
        expected = np.where(chosen, data, on_false).astype(np.float32)
        values, maximum = kernel.run()
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(maximum, expected.max(axis=1, keepdims=True))


@pytest.mark.parametrize("reverse", [False, True])
def test_tensor_copy_predicated_leaves_what_is_not_chosen(reverse):
    before, data = normal(6, 10), normal(6, 10, seed=1)
    predicate = (np.arange(60).reshape(6, 10) % 4 == 1).astype(np.uint32)
    chosen = (predicate != 0) != reverse
    for src in (data, 3.0):
        kernel = Kernel()
        dst = kernel.load(before)
        kernel.builder.tensor_copy_predicated(
            dst,
            kernel.load(src) if src is data else src,
            kernel.load(predicate),
            reverse_pred=reverse,
        )
        kernel.result(dst)
        np.testing.assert_array_equal(kernel.run(), np.where(chosen, src, before))


def test_dynamic_copies_read_their_offset_from_memory():
    data, row = normal(8, 20), normal(8, 5, seed=1)
    offset = np.array([[7]], np.uint32)
    kernel = Kernel()
    window, whole = kernel.tile([8, 5]), kernel.load(data)
    place = kernel.load(offset)
    kernel.builder.tensor_copy_dynamic_src(window, whole, place, engine="vector")
    kernel.builder.tensor_copy_dynamic_dst(whole, kernel.load(row), place, engine="vector")
    kernel.result(window)
    kernel.result(whole)
    read, written = kernel.run()
    np.testing.assert_array_equal(read, data[:, 7:12])
    expected = data.copy()
    expected[:, 7:12] = row
    np.testing.assert_array_equal(written, expected)


def test_what_cannot_be_chosen_is_refused():
    kernel = Kernel()
    tile, column = kernel.tile([4, 6]), kernel.tile([4, 1])
    builder = kernel.builder
    with pytest.raises(ValueError, match="cmp_op 'add'"):
        builder.affine_select(tile, [[1, 6]], 0, tile, 0.0, cmp_op="add")
    with pytest.raises(ValueError, match=r"on_false_value 0 of 'range_select'"):
        builder.range_select(
            tile, tile, "greater", "less", column, column, on_false_value=0.0, reduce_res=column
        )
    with pytest.raises(TypeError, match="parameter 'on_false' is 'zero', not a number or a tile"):
        builder.select_reduce(tile, tile, tile, "zero")
    with pytest.raises(TypeError, match="operand 'predicate' of 'tensor_copy_predicated'"):
        builder.tensor_copy_predicated(tile, 1.0, tile)
    with pytest.raises(ValueError, match="operand 'offset' of 'tensor_copy_dynamic_src'"):
        builder.tensor_copy_dynamic_src(tile, tile, column)
    with pytest.raises(ValueError, match="reduce_cmd 'sum' is unknown"):
        builder.select_reduce(tile, tile, tile, 0.0, reduce_cmd="sum")
