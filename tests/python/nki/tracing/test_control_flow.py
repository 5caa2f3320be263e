"""New language: loops on registers, `while register:`, addresses in registers."""

import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm
from register_kernels import countdown, doubled_rows, int32, normal


@pytest.mark.parametrize("step", [1, 2, 5])
@pytest.mark.parametrize("bounds", [(0, 7), (2, 5), (4, 4), (6, 2), (6, 7)])
def test_a_range_runs_between_registers(bounds, step):
    x = normal(7, 5)
    expected = np.zeros_like(x)
    rows = list(range(*bounds, step))
    expected[rows] = 2 * x[rows]
    np.testing.assert_array_equal(doubled_rows(x, int32(*bounds), step), expected)


@pytest.mark.parametrize("count", [0, 1, 4])
@pytest.mark.parametrize("kind", ["while", "while_loop", "another register", "fori_loop"])
def test_a_loop_runs_as_often_as_data_say(kind, count):
    x = np.round(normal(9, 6) * 8)
    out, after = countdown(kind)(x, int32(count))
    np.testing.assert_array_equal(out, x * count)
    # `while` changes its register; the functions have their own.
    assert after[0, 0] == (0 if kind == "while" else count)


def test_while_loops_nest_and_repeat():
    """Sum over i < n of the sum over j < i + 1 of 1; the inner loop is met twice each time."""

    @nki.jit
    def kernel(n):
        ones = nl.ones((1, 1), dtype=nl.int32)
        total = nl.zeros((1, 1), dtype=nl.int32)
        outer = nl.load(n)
        inner = nl.zeros((1, 1), dtype=nl.int32)
        i, j = nisa.register_alloc(outer), nisa.register_alloc()
        while i:
            for _ in range(2):
                nisa.tensor_copy(dst=inner, src=outer)
                nisa.register_load(j, inner)
                while j:
                    nisa.tensor_tensor(dst=total, data1=total, data2=ones, op=nl.add)
                    nisa.tensor_tensor(dst=inner, data1=inner, data2=ones, op=nl.subtract)
                    nisa.register_load(j, inner)
            nisa.tensor_tensor(dst=outer, data1=outer, data2=ones, op=nl.subtract)
            nisa.register_load(i, outer)
        else:
            nisa.tensor_scalar(dst=total, data=total, op0=nl.add, operand0=100)
        return in_hbm(nl, total)

    for n in (0, 1, 4):
        assert kernel(int32(n))[0, 0] == 100 + n * (n + 1)


def test_the_condition_may_be_another_register_at_the_end_of_the_body():
    @nki.jit
    def kernel(n):
        count = nl.load(n)
        total = nl.zeros((1, 1), dtype=nl.int32)
        reg = nisa.register_alloc(count)
        while reg:
            nisa.tensor_scalar(dst=total, data=total, op0=nl.add, operand0=3)
            nisa.tensor_scalar(dst=count, data=count, op0=nl.subtract, operand0=1)
            reg = nisa.register_alloc(count)
        nisa.register_store(count, reg)
        out = nl.ndarray((1, 2), dtype=nl.int32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out[:, 0:1], src=total)
        nisa.dma_copy(dst=out[:, 1:2], src=count)
        return out

    for n in (0, 1, 6):
        np.testing.assert_array_equal(kernel(int32(n)), int32(3 * n, 0))


def test_python_while_loops_are_unrolled():
    @nki.jit
    def kernel(x):
        tile = nl.load(x)
        n = 0
        while n < 3:
            nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=float(n))
            n += 1
        return in_hbm(nl, tile)

    x = np.round(normal(4, 4) * 8)
    np.testing.assert_array_equal(kernel(x), x + 3)


@pytest.mark.parametrize("way", ["index", "ds", "select", "ap", "tile"])
@pytest.mark.parametrize("row", [0, 4])
def test_a_register_is_an_index(way, row):
    @nki.jit
    def kernel(x, where):
        index = nisa.register_alloc(where)
        view = {
            "index": lambda: x[index],
            "ds": lambda: x[nl.ds(index, 1), 0:3, 0:6],
            "select": lambda: x.select(0, index),
            "ap": lambda: x.ap([[6, 3], [1, 6]], scalar_offset=index),
            "tile": lambda: x.select(0, nl.load(where)),
        }[way]()
        out = nl.ndarray((3, 6), dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=view)
        return out

    x = normal(5, 3, 6)
    np.testing.assert_array_equal(kernel(x, int32(row)), x[row])


@pytest.mark.parametrize("engine", ["vector", "scalar", "gpsimd"])
def test_a_register_moves_an_address_on_every_engine(engine):
    @nki.jit
    def kernel(x, where):
        tile = nl.load(x)
        index = nisa.register_alloc(where)
        column = nl.ndarray((x.shape[0], 1), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=column, src=tile[:, nl.ds(index, 1)], engine=nisa.engine[engine])
        return in_hbm(nl, column)

    x = normal(11, 7)
    for column in (0, 3, 6):
        np.testing.assert_array_equal(kernel(x, int32(column))[:, 0], x[:, column])


def test_the_variable_of_a_loop_with_known_bounds_is_an_offset_too():
    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)

        def body(i):
            row = nl.ndarray((1, 6), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=row, src=x.ap([[6, 1], [1, 6]], scalar_offset=i))
            nisa.dma_copy(dst=out.ap([[6, 1], [1, 6]], scalar_offset=i), src=row)

        nl.fori_loop(0, 5, body)
        return out

    x = normal(5, 6)
    np.testing.assert_array_equal(kernel(x), x)


def test_registers_are_used_again():
    @nki.jit
    def kernel(x):
        tile = nl.load(x)
        out = nl.ndarray((1, 200), dtype=nl.int32, buffer=nl.shared_hbm)
        kept = nisa.register_alloc(7)
        for i in range(199):  # more than the 64 of a sequencer
            register = nisa.register_alloc(i)
            nisa.register_store(tile, register)
            nisa.dma_copy(dst=out[:, i : i + 1], src=tile)
        nisa.register_store(out[:, 199:200], kept)
        return out

    np.testing.assert_array_equal(kernel(int32(0)), int32(*range(199), 7))


def test_a_register_of_outside_survives_those_made_in_a_loop():
    """It is dropped in the loop's body, but the next iteration reads it again."""

    @nki.jit
    def kernel(n):
        count = nl.load(n)
        out = nl.ndarray((1, 2), dtype=nl.int32, buffer=nl.shared_hbm)
        condition = nisa.register_alloc(count)
        kept = [nisa.register_alloc(5)]
        while condition:
            nisa.register_store(out[:, 0:1], kept.pop())
            other = nisa.register_alloc(9)
            nisa.register_store(out[:, 1:2], other)
            nisa.tensor_scalar(dst=count, data=count, op0=nl.subtract, operand0=1)
            nisa.register_load(condition, count)
        return out

    np.testing.assert_array_equal(kernel(int32(3)), int32(5, 9))


def test_each_core_of_a_logical_core_has_its_registers_and_edges():
    @nki.jit
    def kernel(counts):
        core = nl.program_id(0)
        left = nl.load(counts[core : core + 1, :])
        total = nl.zeros((1, 1), dtype=nl.int32)
        reg = nisa.register_alloc(left)
        while reg:
            nisa.tensor_scalar(dst=total, data=total, op0=nl.add, operand0=2, name="plus")
            nisa.tensor_scalar(dst=left, data=left, op0=nl.subtract, operand0=1, name="minus")
            nisa.register_load(reg, left)
        out = nl.ndarray((2, 1), dtype=nl.int32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out[core : core + 1, :], src=total)
        return out

    scheduled = kernel.with_schedule([("minus", "plus")])
    for counts in ([3, 5], [0, 1], [4, 0]):
        result = scheduled[2](np.array([counts], np.int32).T)
        np.testing.assert_array_equal(result[:, 0], [2 * n for n in counts])
