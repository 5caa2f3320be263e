"""What the sanitizer says of a ragged tile, of scratch that two cores share, and of leftovers."""

import inspect
import math

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as new
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from neuron_sim import sanitize

A = np.random.default_rng(0).random((250, 64), np.float32)
TILE = (128, 64)


@old.jit
def rms_norm(a, g):
    """The published tutorial, whose last tile is ragged."""
    out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
    ix, iy = old_nl.arange(128)[:, None], old_nl.arange(a.shape[1])[None, :]
    scale = old_nl.load(g.reshape((1, g.shape[0]))[old_nl.arange(1)[:, None], iy])
    for i in old_nl.affine_range(math.ceil(a.shape[0] / 128)):
        tile = old_nl.load(a[i * 128 + ix, iy], mask=i * 128 + ix < a.shape[0])
        mean = old_nl.sum(old_nl.square(tile), axis=[1]) / a.shape[1]
        result = old_nl.multiply(tile, old_nl.rsqrt(mean))
        result[...] = old_nl.multiply(result, scale.broadcast_to((128, g.shape[0])))
        old_nl.store(out[i * 128 + ix, iy], value=result, mask=i * 128 + ix < a.shape[0])
    return out


def findings_of(kernel, *arguments):
    with sanitize(raise_error=False) as findings:
        result = kernel(*arguments)
    return findings, result


def line(kernel, mark):
    lines, first = inspect.getsourcelines(kernel.func)
    number = first + next(i for i, text in enumerate(lines) if f"# {mark}" in text)
    return f"{__file__}:{number}"


def test_masked_rows_under_a_row_reduction_are_no_finding():
    g = np.arange(64, dtype=np.float32)
    findings, result = findings_of(rms_norm, A, g)
    assert not findings
    np.testing.assert_allclose(result, A / np.sqrt((A * A).mean(1, keepdims=True)) * g, rtol=1e-5)


@new.jit
def both_cores(a, kind):
    out = nl.ndarray((2, *TILE), dtype=nl.float32, buffer=nl.shared_hbm)
    scratch = nl.ndarray(TILE, dtype=nl.float32, buffer=nl.shared_hbm)
    core = nl.program_id(0)
    tile = nl.ndarray(TILE, dtype=nl.float32, buffer=nl.sbuf)
    for writer in range(2 if kind == "in order" else 1):
        nisa.dma_copy(dst=tile, src=a[0] if kind == "same" else a[core])
        if kind != "in order" or core == writer:
            nisa.dma_copy(dst=scratch, src=tile)  # write
        if kind == "in order":
            nisa.core_barrier(scratch, (0, 1))
    nisa.dma_copy(dst=tile, src=scratch)
    nisa.dma_copy(dst=out[core], src=tile)
    return out


@pytest.mark.parametrize(("kind", "races"), [("same", 0), ("in order", 0), ("others", 1)])
def test_two_cores_race_on_shared_scratch_when_they_write_other_values(kind, races):
    a = np.stack([np.ones(TILE, np.float32), np.full(TILE, 2, np.float32)])
    findings, _ = findings_of(both_cores[2], a, kind)
    errors = [finding for finding in findings if finding.severity == "error"]
    assert [error.rule for error in errors] == ["instance-race"] * races
    assert all(error.source_line == line(both_cores, "write") for error in errors)


@new.jit
def leftovers(a, uses):
    out = nl.ndarray(TILE, dtype=nl.float32, buffer=nl.shared_hbm)
    nl.ndarray(TILE, dtype=nl.float32, buffer=nl.shared_hbm)
    tile, doubled = (nl.ndarray(TILE, dtype=nl.float32, buffer=nl.sbuf) for _ in range(2))
    nisa.dma_copy(dst=tile, src=a)
    nisa.tensor_scalar(dst=doubled, data=tile, op0=nl.multiply, operand0=2.0)  # result
    nisa.dma_copy(dst=out, src=doubled if uses else tile)
    return out


def test_an_unused_tensor_is_no_finding_and_an_unused_result_a_note():
    assert not findings_of(leftovers, A[:128], True)[0]
    (finding,) = findings_of(leftovers, A[:128], False)[0]
    assert (finding.rule, finding.severity) == ("unused-result", "note")
    assert finding.source_line == line(leftovers, "result")


def test_a_process_that_is_checked_prints_each_note_once(monkeypatch, capfd):
    monkeypatch.setenv("NEURON_SIM_SANITIZE", "1")
    for _ in range(2):
        leftovers(A[:128], False)
    told = capfd.readouterr().err
    assert told.count("note: 'tensor_scalar' of kernel 'leftovers' writes tile") == 1
    assert line(leftovers, "result").rpartition(":")[2] in told
