"""Errors that are found when a kernel runs, or when it ends, point at the kernel's line."""

import inspect

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.isa as old_isa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as new
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from device_type import DEVICE_TYPE

F32 = np.float32
TABLE = np.arange(40, dtype=F32).reshape(10, 4)


def rows(*values):
    return np.array(values, np.int32)[:, None]


def old_gather(table, index):
    out = old_nl.ndarray((3, 4), dtype=table.dtype, buffer=old_nl.shared_hbm)
    where = old_nl.load(index)
    p, f = old_nl.arange(3)[:, None], old_nl.arange(4)[None, :]
    x = old_nl.load(table[where[p, 0], f])  # here
    old_nl.store(out, x)
    return out


def old_scatter(table, index):
    out = old_nl.ndarray((10, 4), dtype=table.dtype, buffer=old_nl.shared_hbm)
    where = old_nl.load(index)
    p, f = old_nl.arange(3)[:, None], old_nl.arange(4)[None, :]
    old_nl.store(out[where[p, 0], f], old_nl.load(table[0:3]))  # here
    return out


def old_dynamic_copy(table, index):
    out = old_nl.ndarray((10, 2), dtype=table.dtype, buffer=old_nl.shared_hbm)
    x, start = old_nl.load(table), old_nl.load(index)
    p, f = old_nl.mgrid[0:10, 0:2]
    old_nl.store(out, old_isa.tensor_copy_dynamic_src(x[p, start[0, 0] + f]))  # here
    return out


def new_gather(table, index):
    out = nl.ndarray((3, 4), dtype=table.dtype, buffer=nl.shared_hbm)
    where, x = nl.load(index), nl.ndarray((3, 4), dtype=table.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x, src=table.ap([[4, 3], [1, 4]], vector_offset=where))  # here
    nisa.dma_copy(dst=out, src=x)
    return out


def new_gather_on_chip(table, index):
    out = nl.ndarray((10, 3), dtype=table.dtype, buffer=nl.shared_hbm)
    places = nl.ndarray((10, 3), dtype=nl.uint32, buffer=nl.sbuf)
    x, y = nl.load(table), nl.ndarray((10, 3), dtype=table.dtype, buffer=nl.sbuf)
    for row in range(10):
        nisa.dma_copy(dst=places[row : row + 1], src=index.reshape((1, 3)))
    nisa.nc_n_gather(dst=y, data=x, indices=places)  # here
    nisa.dma_copy(dst=out, src=y)
    return out


def marked(function, mark="# here") -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if mark in line)


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize(("function", "language", "within", "beyond"), [
    (old_gather, old, rows(0, 9, 2), rows(0, 10, 2)),
    (old_scatter, old, rows(0, 9, 2), rows(0, 9, -1)),
    (old_dynamic_copy, old, rows(2), rows(3)),
    (new_gather, new, rows(0, 9, 2), rows(0, 10, 2)),
    (new_gather_on_chip, new, rows(0, 3, 2).astype(np.uint32), rows(0, 4, 2).astype(np.uint32)),
], ids=lambda value: getattr(value, "__name__", None))  # fmt: skip
def test_an_index_beyond_its_tensor_points_at_the_instruction(
    function, language, within, beyond, simulated
):
    run = language.jit(function)
    if simulated and language is old:
        run = lambda *arrays: old.simulate_kernel(function, *arrays)  # noqa: E731
    run(TABLE, within)
    with pytest.raises(IndexError) as caught:
        run(TABLE, beyond)
    line = marked(function)
    first, text, caret = caught.value.__notes__[0].splitlines()
    assert first == f'  File "{__file__}", line {line}'
    assert text.strip().endswith("# here") and caret.strip() == "^" * len(text.strip())


def test_the_next_run_is_right_after_an_index_error():
    kernel = new.jit(new_gather)
    with pytest.raises(IndexError):
        kernel(TABLE, rows(0, 10, 2))
    assert np.array_equal(kernel(TABLE, rows(4, 9, 2)), TABLE[[4, 9, 2]])


def test_an_index_error_of_a_launch_on_the_device_points_at_the_line():
    torch = pytest.importorskip("torch")
    kernel = new.jit(new_gather)
    table = torch.from_numpy(TABLE).to(f"{DEVICE_TYPE}:1")
    with pytest.raises(IndexError) as caught:
        kernel(table, torch.from_numpy(rows(0, 10, 2)).to(f"{DEVICE_TYPE}:1"))
    assert f'File "{__file__}", line {marked(new_gather)}' in caught.value.__notes__[0]
    right = kernel(table, torch.from_numpy(rows(0, 9, 2)).to(f"{DEVICE_TYPE}:1"))
    assert np.array_equal(right.cpu().numpy(), TABLE[[0, 9, 2]])


def unwritten(a, written):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    other = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)  # here
    nl.store(out, nl.load(a))
    if written:
        nl.store(other, nl.load(a))
    return out, other


def test_an_output_that_nothing_writes_is_refused_when_the_kernel_runs():
    kernel = new.jit(unwritten)
    kernel(TABLE, True)
    kernel.traced(TABLE, False).time()
    with pytest.raises(ValueError) as caught:
        kernel(TABLE, False)
    assert str(caught.value).startswith("Output tensor `other` was never written to")
    assert f'File "{__file__}", line {marked(unwritten)}' in caught.value.__notes__[0]


def alone(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=a)
    if nl.program_id(0) == 0:
        nisa.core_barrier(out, (0, 1))  # here
    return out


def test_a_barrier_that_one_core_leaves_out_points_at_its_line():
    with pytest.raises(RuntimeError, match="core 0 waits at 'core_barrier'") as caught:
        new.jit(alone)[2].traced(TABLE)
    assert "\n" not in str(caught.value)
    assert f'File "{__file__}", line {marked(alone)}' in caught.value.__notes__[0]
