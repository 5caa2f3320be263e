"""Advice on kernels with one known fault: its first line names the better version, and promises
what that version takes."""

import linecache

import neuron_sim
import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from neuron_sim import _core
from neuron_sim.nki.advice import constants, results
from neuron_sim.nki.advice.calls import altered
from neuron_sim.timeline import changes

VECTOR = np.zeros(25600, np.float32)
MATRIX = np.zeros((512, 2048), np.float32)
SHORTER = "bfloat16 instead of float32"


def plus_one(a, rows, width):
    tiles = a.reshape((a.shape[0] // (rows * width), rows, width))
    out = old_nl.ndarray(tiles.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
    for i in old_nl.affine_range(tiles.shape[0]):
        old_nl.store(out[i], old_nl.add(old_nl.load(tiles[i]), 1.0))
    return out


WIDTH = 2


@old_nki.jit
def assigned(a):
    rows, width = 128, 2
    return plus_one(a, rows, width)


@old_nki.jit
def from_outside(a):
    return plus_one(a, 128, WIDTH)


@old_nki.jit
def with_default(a, width=2):
    return plus_one(a, 128, width)


@old_nki.jit
def few_partitions(a):
    rows = 1
    return plus_one(a, rows, 2)


@old_nki.jit
def scaled(a):
    factor = 2
    out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
    old_nl.store(out, old_nl.multiply(old_nl.load(a), factor))
    return out


def product_of(a, b, keeps):
    """a.T @ b; the tiles of `a` are loaded for every block of columns of `b`, or once."""
    out = nl.ndarray((a.shape[1], b.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    depth = range(a.shape[0] // 128)
    for m in nl.affine_range(a.shape[1] // 128):
        kept = [_loaded(a, k, m, 128) for k in depth] if keeps else None
        for n in nl.affine_range(b.shape[1] // 512):
            total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in depth:
                left = kept[k] if keeps else _loaded(a, k, m, 128)
                nisa.nc_matmul(total, left, _loaded(b, k, n, 512))
            result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(result, total)
            nisa.dma_copy(out[nl.ds(m * 128, 128), nl.ds(n * 512, 512)], result)
    return out


def _loaded(tensor, row, column, width):
    tile = nl.ndarray((128, width), dtype=tensor.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, tensor[nl.ds(row * 128, 128), nl.ds(column * width, width)])
    return tile


@nki.jit
def loads_again(a, b):
    return product_of(a, b, False)


@nki.jit
def on_one_engine(a, engine):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 2048), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, a[0:128, :])
    for _ in range(16):
        nisa.tensor_copy(tile, tile, engine=nisa.vector_engine)
        copied = nl.ndarray((128, 2048), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(copied, tile, engine=engine)
        nisa.dma_copy(out[0:128, :], copied)
    return out


def _doubled(a, buffers):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    shape = a.shape[1:]
    tiles = [nl.ndarray(shape, dtype=a.dtype, buffer=nl.sbuf) for _ in range(buffers)]
    for i in range(a.shape[0]):
        nisa.dma_copy(tiles[i % buffers], a[i])
        nisa.tensor_tensor(tiles[i % buffers], tiles[i % buffers], tiles[i % buffers], op=nl.add)
        nisa.dma_copy(out[i], tiles[i % buffers])
    return out


@nki.jit
def one_buffer(a):
    return _doubled(a, 1)


@nki.jit
def a_buffer_each(a):
    return _doubled(a, 8)


@nki.jit
def scaled_and_shifted(a, in_one):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in range(a.shape[0] // 128):
        tile = _loaded(a, i, 0, 512)
        result = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
        if in_one:
            nisa.tensor_scalar(result, tile, op0=nl.multiply, operand0=2.0, op1=nl.add,
                               operand1=0.5, engine=nisa.vector_engine)  # fmt: skip
        else:
            middle = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
            nisa.tensor_scalar(middle, tile, op0=nl.multiply, operand0=2.0,
                               engine=nisa.vector_engine)  # fmt: skip
            nisa.tensor_scalar(result, middle, op0=nl.add, operand0=0.5, engine=nisa.vector_engine)
        nisa.dma_copy(out[nl.ds(i * 128, 128), :], result)
    return out


def body(kernel, *arguments, arch="trn2", **keywords):
    return neuron_sim.trace(kernel, *arguments, architecture=arch, **keywords).body_us


def advice(kernel, *arguments, arch="trn2"):
    return neuron_sim.trace(kernel, *arguments, architecture=arch).advice()


def line_of(text):
    lines = linecache.getlines(__file__)
    return f"{__file__}:{1 + next(i for i, line in enumerate(lines) if text in line)}"


@pytest.mark.parametrize("kernel", [assigned, from_outside, with_default])
def test_a_wider_tile_is_named_with_the_time_that_it_takes(kernel):
    first = advice(kernel, VECTOR, arch="trn1").changes[0]
    assert "width = 200 instead of 2" in first.write.lower()
    assert first.body_us == pytest.approx(body(with_default, VECTOR, width=200, arch="trn1"))
    assert first.saved == 1 - first.body_us / body(kernel, VECTOR, arch="trn1")


def test_a_size_is_named_at_its_line():
    wide = advice(assigned, VECTOR, arch="trn1").changes[0]
    assert wide.line == line_of("rows, width = 128, 2")
    assert advice(from_outside, VECTOR, arch="trn1").changes[0].line == line_of("WIDTH = 2")


def test_idle_partitions_are_filled():
    first = advice(few_partitions, VECTOR[:6400], arch="trn1").changes[0]
    assert "rows = 128 instead of 1" in first.write and first.saved > 0.9


def test_a_size_that_changes_results_is_no_advice():
    assert all("factor" not in each.write for each in advice(scaled, MATRIX[:128]).changes)


def test_what_a_wrong_size_would_save_is_not_believed_without_its_results():
    traced = [altered(scaled.call(MATRIX[:128]), function=f).trace() for f in _two_factors()]
    sample = results.Sample(traced[0])
    assert sample.equals(traced[0]) and not sample.equals(traced[1])


def _two_factors():
    call = scaled.call(MATRIX[:128])
    (size,) = [each for each in constants._sizes(call) if each.name == "factor"]
    return size.changed(2).function, size.changed(3).function


def test_loads_are_hoisted_and_descriptors_prepared():
    arguments = MATRIX[:, :512], MATRIX
    found = advice(loads_again, *arguments)
    first = found.changes[0]
    assert first.title == "Load once, keep in SBUF"
    assert first.line == line_of("nisa.dma_copy(tile, tensor")
    assert first.body_us < body(loads_again, *arguments) * 0.75
    flags = nki.jit(loads_again.func, additional_compile_opt="--disable-dge")
    static = next(each for each in found.changes if "--disable-dge" in each.write)
    assert static.body_us == pytest.approx(body(flags, *arguments))
    assert "--disable-dge" not in str(advice(flags, *arguments).changes)
    of_kernel = [each for each in found.changes if each.title != SHORTER]
    assert of_kernel == sorted(of_kernel, key=lambda each: -each.saved)


def test_work_moves_to_an_idle_engine():
    """The better kernel is written too; one that uses both engines gets no such line."""
    busy = advice(on_one_engine, MATRIX, nisa.vector_engine)
    moved = [each for each in busy.changes if each.title.startswith("Element-wise work on Scalar")]
    assert moved and moved[0].line == line_of("copied, tile, engine=engine")
    better = body(on_one_engine, MATRIX, nisa.scalar_engine)
    assert moved[0].body_us == pytest.approx(better, rel=0.01)


def test_only_element_wise_work_of_a_line_that_is_elsewhere_moves():
    program = on_one_engine.call(MATRIX, nisa.vector_engine).trace().source
    line = line_of("copied, tile, engine=engine")
    moved = _core.on_engine(program, line, "Scalar")
    engines = {each["source"]: each["engine"] for each in moved.operations()}
    other = line_of("tile, tile, engine=nisa.vector_engine")
    assert (engines[line], engines[other]) == ("Scalar", "Vector")
    assert _core.on_engine(program, line, "Vector") is None  # it is there
    assert _core.on_engine(program, line_of("dma_copy(out[0:128"), "Scalar") is None
    assert _core.on_engine(program, "elsewhere.py:1", "Scalar") is None
    with pytest.raises(ValueError, match="engine 'Tensor' does no element-wise work"):
        _core.on_engine(program, line, "Tensor")


def test_two_operations_become_one_instruction():
    rows = MATRIX[:, :512]
    found = advice(scaled_and_shifted, rows, False).changes
    (one,) = [each for each in found if each.title == "Two operations in one instruction"]
    assert one.body_us == pytest.approx(body(scaled_and_shifted, rows, True))
    assert one.line == line_of("nisa.tensor_scalar(middle, tile")
    better = advice(scaled_and_shifted, rows, True).changes
    assert all(each.title != one.title for each in better)


def test_buffers_are_doubled_where_no_compiler_does_it():
    tiles = np.zeros((8, 128, 512), np.float32)
    with pytest.warns(UserWarning, match="without the compiler's passes"):
        first = advice(one_buffer, tiles, arch="trn3").changes[0]
        better = body(a_buffer_each, tiles, arch="trn3")
    assert first.title == "Double buffers" and first.saved > 0.2
    assert first.body_us == pytest.approx(better, rel=0.05)


def test_trials_end_when_they_would_take_too_long(monkeypatch):
    monkeypatch.setattr(changes, "MOST_INSTANCES", 0)
    monkeypatch.setattr(constants, "_MOST_TRACED", 0)
    assert advice(loads_again, MATRIX, MATRIX).changes == []


def test_a_change_that_cannot_be_made_is_no_error():
    program = loads_again.call(MATRIX, MATRIX).trace().program

    def refuses():
        raise ValueError("the kernel's own check")

    trials = [changes.Trial("any", "", "", program) for program in (refuses, lambda: None)]
    assert changes.changes_of(program, trials) == []


def test_trials_that_fail_count_as_many_instructions_as_the_kernel(monkeypatch):
    program = loads_again.call(MATRIX, MATRIX).trace().program
    tried = []

    def refuses():
        tried.append(1)
        raise ValueError("the kernel's own check")

    monkeypatch.setattr(changes, "MOST_INSTANCES", 2 * program.time()["instructions"])
    assert changes.changes_of(program, [changes.Trial("any", "", "", refuses)] * 5) == []
    assert len(tried) == 2


def test_callers_are_told_last_what_shorter_operands_would_save():
    short = np.zeros((512, 512), dtype=nl.bfloat16), np.zeros((512, 2048), dtype=nl.bfloat16)
    found = advice(loads_again, MATRIX[:, :512], MATRIX).changes
    assert [each.title == SHORTER for each in found] == [False] * (len(found) - 1) + [True]
    assert found[-1].body_us == pytest.approx(body(loads_again, *short))
    assert "pass a, b as bfloat16" in found[-1].write and "4 passes" in found[-1].write
    assert all(each.title != SHORTER for each in advice(loads_again, *short).changes)
    assert all(each.title != SHORTER for each in advice(on_one_engine, MATRIX,
                                                        nisa.vector_engine).changes)  # fmt: skip


@nki.jit
def signs(a, b):
    """1 where the product is positive, which rounding of its operands changes near 0."""
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(total, _loaded(a, 0, 0, 128), _loaded(b, 0, 0, 512))
    result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(result, total, op0=nl.greater, operand0=0.0)
    nisa.dma_copy(out, result)
    return out


@nki.jit
def columns(a):
    """Tiles of a.T, by loads that take single elements."""
    out = nl.ndarray((a.shape[1], a.shape[0]), dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, a.shape[0]), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, a.ap(pattern=[[1, 128], [a.shape[1], a.shape[0]]]))
    nisa.dma_copy(out, tile)
    return out


@nki.jit
def rows(a):
    """The same of a tensor that is stored transposed."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, a)
    nisa.dma_copy(out, tile)
    return out


def test_callers_are_told_what_another_layout_of_a_tensor_would_save():
    tall = np.zeros((512, 128), np.float32)
    found = advice(columns, tall).changes
    (dense,) = [each for each in found if each.title == "Elements side by side in HBM"]
    assert dense is found[-1] and dense.line == line_of("nisa.dma_copy(tile, a.ap(")
    assert dense.body_us == pytest.approx(body(rows, np.ascontiguousarray(tall.T)))
    assert all(each.title != dense.title for each in advice(rows, tall.T.copy()).changes)


def test_operands_whose_precision_decides_the_result_stay_long():
    assert all(each.title != SHORTER for each in advice(signs, MATRIX[:128, :128],
                                                        MATRIX[:128, :512]).changes)  # fmt: skip


def test_check_says_what_would_help_most():
    result = neuron_sim.check(with_default, {"a": VECTOR})["performance"]
    assert "width = 200" in result["changes"][0]["write"]
    assert result["best_change"].startswith(result["changes"][0]["title"])
