"""Builder: registers of the sequencers; what the two cores say to each other."""

import numpy as np
import pytest
from core_module_kernel import Kernel, normal


def test_registers_are_loaded_moved_and_stored():
    kernel = Kernel()
    builder = kernel.builder
    loaded = builder.register_alloc(kernel.load(np.array([[41]], np.int32)), engine="vector")
    constant = builder.register_alloc(-7, engine="vector")
    copy = builder.register_alloc(engine="vector")
    assert len({loaded, constant, copy}) == 3
    builder.register_move(copy, src_register=loaded, engine="vector")
    builder.register_load(loaded, kernel.load(np.array([[5]], np.int32)), engine="vector")
    for register in (loaded, constant, copy):
        tile = kernel.tile([1, 1], np.int32)
        builder.register_store(tile, register, engine="vector")
        kernel.result(tile, np.int32)
    assert [int(value[0, 0]) for value in kernel.run()] == [5, -7, 41]


@pytest.mark.parametrize("trips", [0, 1, 3, 5])
def test_a_register_counts_a_loop_and_moves_an_address(trips):
    kernel = Kernel()
    builder = kernel.builder
    tile = kernel.load(np.zeros((4, 5), np.float32))
    count = builder.register_alloc(kernel.load(np.array([[trips]], np.int32)), engine="vector")
    column = builder.register_alloc(1, engine="vector")
    i = builder.open_loop_register("vector", count, 5)
    builder.memset(tile[:, i : i + 1], 2.0, engine="vector")
    builder.close_loop()
    builder.memset(tile[:, 0:1].at_register(column, 4), 3.0, engine="vector")
    kernel.result(tile)
    expected = np.where(np.arange(5) < trips, 2.0, 0.0)
    expected[1] = 3.0
    np.testing.assert_array_equal(kernel.run(), np.tile(expected, (4, 1)))


def test_two_cores_exchange_tiles_and_meet():
    data = normal(2, 8, 6)
    kernel = Kernel("trn2")
    builder = kernel.builder
    source = kernel.argument(data)
    target = kernel.argument(np.zeros_like(data))
    shared = builder.scratch("shared", [2, 8, 6])
    total = kernel.argument(np.zeros_like(data))
    for core in range(2):
        builder.open_core(core)
        mine, theirs = kernel.tile([8, 6]), kernel.tile([8, 6])
        builder.dma_copy(mine, source[core])
        builder.sendrecv(mine, theirs, 1 - core, 1 - core)
        builder.dma_copy(target[core], theirs)
        builder.dma_copy(shared[core], mine)
        builder.core_barrier(shared)
        other = kernel.tile([8, 6])
        builder.dma_copy(other, shared[1 - core])
        builder.tensor_tensor(other, other, mine, "add")
        builder.dma_copy(total[core], other)
        builder.close_core()
    kernel.run()
    np.testing.assert_array_equal(kernel.arrays[1], data[::-1])
    np.testing.assert_array_equal(kernel.arrays[2], np.stack([data[0] + data[1]] * 2))


def test_what_the_sequencer_cannot_do_is_refused():
    kernel = Kernel()
    builder, tile = kernel.builder, kernel.tile([4, 6])
    with pytest.raises(TypeError, match="parameter 'x' of 'register_alloc' is 'one'"):
        builder.register_alloc("one")
    with pytest.raises(IndexError, match="register 64"):
        builder.register_move(64, 1)
    with pytest.raises(ValueError, match="operand 'src' of 'register_load' is tile\\[4, 6\\]"):
        builder.register_load(0, tile)
    with pytest.raises(TypeError, match="operand 'dst' of 'register_store'"):
        builder.register_store(tile[0:1, 0:1], 0)
    with pytest.raises(ValueError, match="dma_engine 'fast' is unknown; allowed: dma, gpsimd_dma"):
        builder.sendrecv(tile, tile, 1, 1, dma_engine="fast")
    with pytest.raises(ValueError, match="'sendrecv'"):
        builder.sendrecv(tile, kernel.tile([4, 6]), 2, 2)
    with pytest.raises(ValueError, match="'core_barrier'.*got a tile in 'psum'"):
        builder.core_barrier(builder.psum("sums", [4, 6], "float32"))
