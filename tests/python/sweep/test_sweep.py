"""Sweeps: every point timed as by hand, in the order of the grid, on any executor, resumable."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from neuron_sim.sweep import Study, point, run, run_sweep
from neuron_sim.sweep.point import loaded_module

FILE = Path(__file__).with_name("swept_kernels.py")
SCALED = f"{FILE}:scaled"
SIZES = tuple(range(16, 16 + 25 * 8, 8))
GRID = {"factor": (1.0, 2.0, 3.0, 4.0), "N": SIZES, "arch.hbm.bandwidth": ("1x", "2x")}
STUDY = Study(SCALED, GRID, {"x": "float32[128, N]"})
"""200 points."""


@pytest.fixture(scope="module")
def rows():
    """Of STUDY, one point after the other."""
    return run_sweep(STUDY)


@pytest.fixture
def counted(monkeypatch):
    """The points that are timed, in their order."""
    timed = []

    def evaluate(study, each):
        timed.append(each)
        return point.evaluate(study, each)

    monkeypatch.setattr(run, "evaluate", evaluate)
    return timed


def test_rows_have_the_order_of_the_grid_and_the_times_of_the_kernel(rows):
    assert len(rows) == STUDY.size == 200
    assert [(row["factor"], row["N"], row["arch.hbm.bandwidth"]) for row in rows] == [
        (factor, size, speed)
        for factor in GRID["factor"]
        for size in SIZES
        for speed in ("1x", "2x")
    ]
    module = loaded_module(str(FILE), os.stat(FILE).st_mtime_ns)
    for row in rows[:4:2]:
        traced = module.scaled.traced(np.zeros((128, row["N"]), np.float32), row["factor"])
        timing = traced.time()
        assert (row["latency_us"], row["body_us"]) == (timing["latency_us"], timing["body_us"])
        assert row["hbm_bytes"] == 2 * 4 * 128 * row["N"]


def test_an_architecture_fact_is_changed_for_its_points_only():
    environment = os.environ.get("NEURON_SIM_ARCH")
    facts = {"arch.dma.bandwidth": ("1x", "4x"), "arch.dma.engines": (16, 4), "factor": (2,)}
    found = run_sweep(Study(SCALED, facts, {"x": "float32[128, 16384]"}))
    (base, few), (fast, few_fast) = np.reshape([row["body_us"] for row in found], (2, 2))
    assert fast < base < few and fast < few_fast < few
    assert os.environ.get("NEURON_SIM_ARCH") == environment


def test_architectures_are_a_parameter(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('base = "trn1"\n"dma.bandwidth" = "2x"\n')
    study = Study(SCALED, {"arch": ("trn1", str(mine), "trn2"), "factor": (2,)},
                  {"x": "float32[128, 8192]"})  # fmt: skip
    first, faster, other = (row["body_us"] for row in run_sweep(study))
    assert len({first, faster, other}) == 3 and faster < first


def test_a_refused_point_is_a_row_with_its_sentence():
    small, large = run_sweep(
        Study(SCALED, {"P": (128, 129), "factor": (2,)}, {"x": "float32[P, 8]"})
    )
    assert "error" not in small and "latency_us" not in large
    assert "129" in large["error"] and "exceed architecture limitation of 128" in large["error"]


def test_functions_return_traced_kernels_whose_figures_are_added():
    (one,) = run_sweep(Study(f"{FILE}:not_a_kernel", {"size": (64,)}))
    (two,) = run_sweep(Study(f"{FILE}:two_kernels", {"size": (64,)}))
    for figure in ("latency_us", "body_us", "hbm_bytes", "instructions"):
        assert two[figure] == 2 * one[figure]
    for figure in ("sbuf_bytes", "psum_bytes", "bound"):
        assert two[figure] == one[figure]


@pytest.mark.parametrize(("target", "parameters", "inputs", "sentence"), [
    ("scaled", {"factor": (1,)}, {"x": "float32[8, 8]", "y": "float32[1, 1]"}, "'y'"),
    ("scaled", {"factor": (1,)}, {"x": "float32[128, n]"}, "'n' is no whole number"),
    ("scaled", {"factor": (1,)}, {"x": "float31[128, 4]"}, "float31"),
    ("not_a_kernel", {"size": (8,)}, {"x": "float32[1]"}, "this function is not one"),
    ("returns_nothing", {"size": (8,)}, {}, "must return kernel.traced(...)"),
])  # fmt: skip
def test_a_wrong_study_of_a_kernel_is_told_in_its_rows(target, parameters, inputs, sentence):
    (row,) = run_sweep(Study(f"{FILE}:{target}", parameters, inputs))
    assert sentence in row["error"]


@pytest.mark.parametrize(("target", "parameters", "sentence"), [
    ("kernels.py", {"a": (1,)}, "must be FILE.py:FUNCTION or model:NAME"),
    (SCALED, {"a": ()}, "parameter 'a' has no values"),
    (SCALED, {"a": range(1001), "b": range(1000)}, "the grid has 1001000 points"),
])  # fmt: skip
def test_a_study_that_cannot_be_is_refused(target, parameters, sentence):
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
        Study(target, parameters)


@pytest.mark.parametrize(("parameters", "form", "sentence"), [
    ({"width": (1,)}, "float32[128, 4]", "has no parameter 'width'"),
    ({"factor": (1,)}, "float32 128", r"must be DTYPE\[SIZE, ...\]"),
])  # fmt: skip
def test_what_no_point_takes_is_refused_before_the_first(counted, parameters, form, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        run_sweep(Study(SCALED, parameters, {"x": form}))
    assert counted == []


def test_executors_give_the_same_rows(rows):
    with ThreadPoolExecutor(3) as executor:
        assert run_sweep(STUDY, executor) == rows


def test_what_a_file_has_is_not_timed_again(tmp_path, counted, rows):
    path = tmp_path / "results.jsonl"
    half = Study(SCALED, {**GRID, "N": SIZES[:10]}, STUDY.inputs)
    run_sweep(half, results=path)
    assert len(counted) == 80
    assert run_sweep(STUDY, results=path) == rows
    assert len(counted) == 200 and counted[80]["N"] == SIZES[10]
    assert run_sweep(STUDY, results=path) == rows and len(counted) == 200
    assert len(path.read_text().splitlines()) == 200


def test_other_inputs_sources_or_facts_are_timed_anew(tmp_path, counted):
    kernels = tmp_path / "kernels.py"
    kernels.write_text(FILE.read_text())
    path = tmp_path / "results.jsonl"

    def timed(architecture="trn2", size=64):
        study = Study(f"{kernels}:scaled", {"factor": (2,)}, {"x": f"float32[128, {size}]"},
                      architecture)  # fmt: skip
        before = len(counted)
        run_sweep(study, results=path)
        return len(counted) - before

    mine = tmp_path / "mine.toml"
    mine.write_text('base = "trn2"\n')
    assert (timed(), timed(), timed(size=65), timed("trn1")) == (1, 0, 1, 1)
    assert timed(str(mine)) == 0, "the same facts under another name"
    mine.write_text('base = "trn2"\n"hbm.bandwidth" = "2x"\n')
    assert timed(str(mine)) == 1
    kernels.write_text(FILE.read_text() + "\n# changed\n")
    assert timed() == 1


def test_a_line_that_was_cut_off_is_timed_anew(tmp_path, counted, rows):
    path = tmp_path / "results.jsonl"
    run_sweep(STUDY, results=path)
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    assert run_sweep(STUDY, results=path) == rows
    assert len(counted) == 201
    assert run_sweep(STUDY, results=path) == rows and len(counted) == 201


def test_a_file_of_something_else_is_refused_and_unchanged(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("notes\nmore notes\n")
    with pytest.raises(ValueError, match="is no file of results of a sweep"):
        run_sweep(STUDY, results=path)
    assert path.read_text() == "notes\nmore notes\n"


def test_points_that_had_not_begun_are_cancelled_after_an_error(tmp_path):
    path = tmp_path / "results.jsonl"

    def advance(done, total):
        if done == 5:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as executor, pytest.raises(KeyboardInterrupt):
        run_sweep(STUDY, executor, path, advance)
    assert len(path.read_text().splitlines()) == 5


def test_the_command_continues_after_an_interruption(tmp_path, rows):
    text = FILE.read_text().replace(
        "def scaled(x, factor):\n", "def scaled(x, factor):\n    rest()\n"
    )
    rest = "\n\ndef rest():\n    import time\n    time.sleep(0.02)\n"
    (tmp_path / "kernels.py").write_text(text + rest)
    command = [sys.executable, "-m", "neuron_sim", "sweep", "kernels.py:scaled", "--json",
               "--input", "x=float32[128, N]", "--over", "factor=1.0,2.0,3.0,4.0",
               "--over", "N=16:208:8", "--over", "arch.hbm.bandwidth=1x,2x"]  # fmt: skip
    # A shell may have started the tests in the background, with the signal ignored.
    first = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    path = tmp_path / "sweep.jsonl"
    deadline = time.monotonic() + 600
    while not (path.exists() and path.read_text().count("\n") >= 3):
        assert time.monotonic() < deadline and first.poll() is None
        time.sleep(0.02)
    first.send_signal(signal.SIGINT)
    _, told = first.communicate(timeout=600)
    known = path.read_text().count("\n")
    assert first.returncode == 130 and 3 <= known < 200
    assert told == (
        f"neuron-sim sweep: stopped: {known} of 200 points are in sweep.jsonl; the same command "
        "continues.\n"
    )
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == rows
    assert path.read_text().count("\n") == 200


@pytest.mark.torch
def test_models_are_timed_with_the_options_of_their_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.py").write_text(
        "import torch\n\ndef build():\n    return torch.nn.Linear(64, 64), (torch.ones(4, 64),)\n"
    )
    study = Study("model:tiny:build", {"dtype": ("float32", "float64")}, architecture="trn1")
    known, refused = run_sweep(study)
    expected = subprocess.run(
        [sys.executable, "-m", "neuron_sim", "model", "tiny:build", "--arch", "trn1", "--json",
         "--dtype", "float32"], capture_output=True, text=True, check=True)  # fmt: skip
    (figures,) = json.loads(expected.stdout)
    assert known["latency_ms"] == figures["latency_ms"] and known["architecture"] == "trn1"
    assert known["busy.Tensor"] == figures["busy"]["Tensor"]
    assert "float64" in refused["error"]


def test_every_dtype_of_the_device_can_be_declared():
    study = Study(SCALED, {"factor": (2,), "N": (64,)}, {"x": "float8_e4m3[2*32, N*2]"})
    (row,) = run_sweep(study)
    assert row["hbm_bytes"] == 2 * 64 * 128
