"""nl.all_reduce: programs of a grid that wait for each other."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from nki_errors import error_of

RANDOM = np.random.default_rng(11)


def tiles(*shape):
    return RANDOM.integers(-9, 9, shape).astype(np.float32)


@pytest.mark.parametrize("programs", [1, 2, 5])
@pytest.mark.parametrize("op, oracle", [(np.add, np.sum), (nl.maximum, np.max), (np.min, np.min)])
def test_all_reduce_gives_every_program_the_same(programs, op, oracle):
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        program = nl.program_id(0)
        reduced = nl.all_reduce(nl.load(a[program]), op, program_axes=[program])
        nl.store(out[program], reduced)
        return out

    a = tiles(programs, 4, 6)
    result = kernel[programs](a)
    np.testing.assert_array_equal(result, np.broadcast_to(oracle(a, axis=0), a.shape))


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_all_reduce_over_some_axes_of_the_grid(axes):
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        i, j = nl.program_id(0), nl.program_id(1)
        nl.store(out[i, j], nl.all_reduce(nl.load(a[i, j]), np.add, axes))
        return out

    a = tiles(2, 3, 4, 5)
    expected = np.broadcast_to(a.sum(axis=axes, keepdims=True), a.shape)
    np.testing.assert_array_equal(kernel[2, 3](a), expected)


def test_all_reduce_in_loops_with_a_mask():
    @nki.jit
    def kernel(a):
        programs, blocks, rows, columns = a.shape
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        shard = nl.program_id(0)
        i_p, i_f = nl.mgrid[0:rows, 0:columns]
        own = nl.ndarray((blocks, nl.par_dim(rows), columns), a.dtype, buffer=nl.sbuf)
        every = nl.zeros((blocks, nl.par_dim(rows), columns), a.dtype, buffer=nl.sbuf)
        for block in nl.affine_range(blocks):
            own[block] = nl.load(a[shard, block])
            every[block, i_p, i_f] = nl.all_reduce(
                own[block, i_p, i_f], op=np.add, program_axes=[shard], mask=(i_p < rows - 1)
            )
        for block in nl.affine_range(blocks):
            nl.store(out[shard, block], every[block])
        return out

    a = tiles(2, 3, 5, 4)
    expected = np.broadcast_to(a.sum(axis=0), a.shape).copy()
    expected[:, :, -1] = 0
    np.testing.assert_array_equal(kernel[2](a), expected)


def test_later_programs_see_what_earlier_ones_stored_before_they_met():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        shared = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        program, count = nl.program_id(0), nl.num_programs(0)
        nl.store(shared[program], nl.load(a[program]))
        total = nl.all_reduce(nl.load(a[program]), np.add, [program])
        other = nl.load(shared[count - 1 - program])
        nl.store(out[program], nisa.tensor_tensor(total, other, np.subtract))
        return out

    a = tiles(2, 4, 3)
    np.testing.assert_array_equal(kernel[2](a), a)


def test_programs_change_their_tile_after_they_met():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        program = nl.program_id(0)
        tile = nl.load(a[program])
        total = nl.all_reduce(tile, np.add, [program])
        tile[...] = nl.multiply(tile, 0.0)
        nl.store(out[program], nl.add(total, tile))
        return out

    a = tiles(3, 4, 3)
    np.testing.assert_array_equal(kernel[3](a), np.broadcast_to(a.sum(axis=0), a.shape))


def test_other_indices_than_program_ids_are_refused():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(2):
            nl.store(out[i], nl.all_reduce(nl.load(a[i]), np.add, program_axes=[i]))
        return out

    assert error_of(kernel[2], tiles(2, 4, 3)).splitlines()[0] == (
        "program_axes of all_reduce must be program_id! Consider use loop_reduce or reduce instead."
    )


def test_a_program_that_does_not_come_is_a_deadlock():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        program = nl.program_id(0)
        tile = nl.load(a[program])
        if program == 1:
            nl.store(out[program], tile)
        else:
            nl.store(out[program], nl.all_reduce(tile, np.add, [program]))
        return out

    assert error_of(kernel[2], tiles(2, 4, 3), kind=RuntimeError).splitlines()[0] == (
        "kernel 'kernel' deadlocks: program [0] waits at 'all_reduce' over axes [0] of the grid "
        "for programs that do not come."
    )


def test_an_error_of_one_program_is_that_of_the_kernel():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        program = nl.program_id(0)
        total = nl.all_reduce(nl.load(a[program]), np.add, [program])
        if program == 1:
            raise ValueError("the second program fails")
        nl.store(out[program], total)
        return out

    for _ in range(2):
        assert error_of(kernel[3], tiles(3, 4, 3)).splitlines()[0] == "the second program fails"
