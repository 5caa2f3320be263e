"""Builder: parameters of instructions that the tests of nki.isa, its caller, leave as they are."""

import numpy as np
import pytest
from core_module_kernel import Kernel, normal
from neuron_sim import _core


def test_every_instruction_is_a_method():
    assert [name for name in _core.instructions() if not hasattr(_core.Builder, name)] == []


def test_tensor_scalar_reduce_returns_values_and_their_negated_sum():
    data, factor = normal(9, 33), normal(9, 1, seed=1)
    kernel = Kernel()
    dst, total = kernel.tile(data.shape), kernel.tile([9, 1])
    kernel.builder.tensor_scalar_reduce(
        dst, kernel.load(data), "multiply", kernel.load(factor), "add", reduce_res=total,
        reduce_cmd="load_reduce", reduce_init=5.0, reduce_res_negate=True,
    )  # fmt: skip
    kernel.result(dst)
    kernel.result(total)
    values, total = kernel.run()
    expected = data.astype(np.float64) * factor
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    np.testing.assert_allclose(total, -(5 + expected.sum(axis=1, keepdims=True)), rtol=1e-5)


def test_activate2_and_exponential_reduce_what_they_write():
    data, shift = normal(9, 21), normal(9, 1, seed=1)
    kernel = Kernel("trn3")
    builder, tile = kernel.builder, kernel.load(data)
    squared, total = kernel.tile(data.shape), kernel.tile([9, 1])
    exponentials, mass = kernel.tile(data.shape), kernel.tile([9, 1])
    builder.activate2(
        squared, "square", tile, 2.0, kernel.load(shift), "multiply", "subtract",
        reduce_op="add", reduce_res=total, reduce_cmd="reset_reduce",
    )  # fmt: skip
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
    dst, tiles = kernel.tile(left.shape), [kernel.load(left), kernel.load(right)]
    kernel.builder.tensor_tensor_scan(dst, *tiles, 0.5, op0="subtract", op1="add", reverse0=True)
    kernel.result(dst)
    value, expected = np.full(3, 0.5), []
    for i in range(12):
        value = (value - left[:, i]) + right[:, i]
        expected.append(value)
    np.testing.assert_allclose(kernel.run(), np.stack(expected, axis=1), rtol=1e-4, atol=1e-5)


def test_the_places_of_replaced_values_are_written():
    data = normal(6, 50)
    kernel = Kernel()
    tile, largest, places = kernel.load(data), kernel.tile([6, 8]), kernel.tile([6, 8], np.uint32)
    kernel.builder.max8(largest, tile)
    kernel.builder.nc_match_replace8(tile, tile, largest, -100.0, dst_idx=places)
    kernel.result(places, np.uint32)
    np.testing.assert_array_equal(kernel.run(), np.argsort(-data, axis=1)[:, :8])


def test_nonzero_with_count_starts_at_an_offset_and_pads_with_a_number():
    data = np.zeros((16, 12), np.float32)
    data[0, [1, 5, 6]] = [2, -1, 3]
    kernel = Kernel()
    dst = kernel.tile([16, 13], np.int32)
    kernel.builder.memset(dst, 0)
    kernel.builder.nonzero_with_count(dst, kernel.load(data), index_offset=10, padding_val=-5)
    kernel.result(dst, np.int32)
    np.testing.assert_array_equal(kernel.run()[0], [11, 15, 16] + [-5] * 9 + [3])


@pytest.mark.parametrize("reverse", [False, True])
def test_select_reduce_takes_a_tile_or_a_number(reverse):
    data, other = normal(5, 11), normal(5, 1, seed=1)
    predicate = (np.arange(55).reshape(5, 11) % 3 == 0).astype(np.uint8)
    chosen = (predicate != 0) != reverse
    for on_false in (other, -2.5):
        kernel = Kernel()
        dst, largest = kernel.tile(data.shape), kernel.tile([5, 1])
        rest = kernel.load(other) if on_false is other else on_false
        kernel.builder.select_reduce(
            dst, kernel.load(predicate), kernel.load(data), rest, reduce_res=largest,
            reduce_cmd="reset_reduce", reverse_pred=reverse,
        )  # fmt: skip
        kernel.result(dst)
        kernel.result(largest)
        expected = np.where(chosen, data, on_false).astype(np.float32)
        values, maximum = kernel.run()
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(maximum, expected.max(axis=1, keepdims=True))


def test_a_transpose_by_dma_has_a_priority():
    data = normal(16, 24).astype(np.float16)
    kernel = Kernel("trn3")
    dst = kernel.tile([24, 16], np.float16)
    kernel.builder.dma_transpose(dst, kernel.argument(data), axes=[1, 0], priority=2)
    kernel.result(dst, np.float16)
    np.testing.assert_array_equal(kernel.run(), data.T)


@pytest.mark.parametrize("trips", [0, 1, 3, 5])
def test_a_register_counts_a_loop_and_moves_an_address(trips):
    kernel = Kernel()
    builder = kernel.builder
    tile = kernel.load(np.zeros((4, 5), np.float32))
    count = builder.register_alloc(kernel.load(np.array([[trips]], np.int32)), engine="vector")
    column, copy = (
        builder.register_alloc(1, engine="vector"),
        builder.register_alloc(engine="vector"),
    )
    builder.register_move(copy, src_register=column, engine="vector")
    i = builder.open_loop_register("vector", count, 5)
    builder.memset(tile[:, i : i + 1], 2.0, engine="vector")
    builder.close_loop()
    builder.memset(tile[:, 0:1].at_register(copy, 4), 3.0, engine="vector")
    kernel.result(tile)
    expected = np.where(np.arange(5) < trips, 2.0, 0.0)
    expected[1] = 3.0
    np.testing.assert_array_equal(kernel.run(), np.tile(expected, (4, 1)))


# What the methods themselves refuse: words, and kinds of parameters; tests/device/isa has the rest.
REFUSED = {
    "a mode": (lambda b, t: b.nc_matmul(t, t, t, perf_mode="fast"), ValueError,
        "perf_mode 'fast' is unknown; allowed: none, double_row"),
    "a position": (lambda b, t: b.nc_matmul(b.psum("sum", [6, 6]), t, t, tile_position=(3, 0),
        tile_size=(32, 128)), ValueError, "tile_position"),
    "a newer generation": (lambda b, t: b.activate2(t, "exp", t, 1.0, None, "multiply", ""),
        NotImplementedError, "'activate2' needs NeuronCore-v4"),
    "a newer parameter": (lambda b, t: b.dma_copy(t, b.argument("x", [4, 6]), priority=9),
        NotImplementedError, "parameter 'priority' needs NeuronCore-v4"),
    "a bias": (lambda b, t: b.activation(t, "exp", t, bias="none"), TypeError,
        "parameter 'bias' is 'none', not a number or a tile"),
    "an operand": (lambda b, t: b.tensor_scalar_reduce(t, t, "add", [], "add"), TypeError,
        r"parameter 'operand0' is \[\], not a number or a tile"),
    "what is else": (lambda b, t: b.select_reduce(t, t, t, "zero"), TypeError,
        "parameter 'on_false' is 'zero', not a number or a tile"),
    "a probability": (lambda b, t: b.dropout(t, t, "0.5"), TypeError,
        "parameter 'prob' is '0.5', not a number or a tile"),
    "a reduction": (lambda b, t: b.tensor_partition_reduce(t[0:1], "median", t), ValueError,
        "op 'median' of 'tensor_partition_reduce' is unknown"),
    "a command": (lambda b, t: b.select_reduce(t, t, t, 0.0, reduce_cmd="sum"), ValueError,
        "reduce_cmd 'sum' is unknown"),
    "a comparison": (lambda b, t: b.affine_select(t, [[1, 6]], 0, t, 0.0, cmp_op="add"), ValueError,
        "cmp_op 'add'"),
    "what is out of bounds": (lambda b, t: b.dma_copy(t, t, oob_mode="wrap"), ValueError,
        "oob_mode 'wrap' is unknown; allowed: error, skip"),
    "a DMA engine": (lambda b, t: b.sendrecv(t, t, 1, 1, dma_engine="fast"), ValueError,
        "dma_engine 'fast' is unknown; allowed: dma, gpsimd_dma"),
    "a value of a register": (lambda b, t: b.register_alloc("one"), TypeError,
        "parameter 'x' of 'register_alloc' is 'one'"),
    "a register": (lambda b, t: b.register_move(64, 1), IndexError, "register 64"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_parameter_is_refused(name):
    call, error, sentence = REFUSED[name]
    kernel = Kernel()
    with pytest.raises(error, match=sentence):
        call(kernel.builder, kernel.tile([4, 6]))
