"""Tuning finds the best of a grid in few trials, and the same for the same seed."""

import json
import os
import sys
from pathlib import Path

import pytest
from neuron_sim.command_line import main
from neuron_sim.sweep import Study, run_sweep
from neuron_sim.sweep.point import loaded_module
from neuron_sim.tune import search, tune

FILE = Path(__file__).parents[1] / "sweep" / "swept_kernels.py"
MODULE = loaded_module(str(FILE), os.stat(FILE).st_mtime_ns)
STUDY = Study(f"{FILE}:product", MODULE.PARAMETERS, MODULE.INPUTS)
SMALL = Study(f"{FILE}:scaled", {"N": (256, 64, 128), "factor": (2,)}, {"x": "float32[128, N]"})


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A file with every point of the grid, so that each is timed once in this module."""
    path = tmp_path_factory.mktemp("tune") / "grid.jsonl"
    return path, run_sweep(STUDY, results=path)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_300_tilings_is_found_in_60_trials(known, seed):
    path, grid = known
    assert STUDY.size == 300
    found = tune(STUDY, trials=60, seed=seed, results=path)
    assert found.cost == min(row["latency_us"] for row in grid if "error" not in row)
    assert len(found.rows) == 60
    points = [tuple(row[name] for name in STUDY.parameters) for row in found.rows]
    assert len(set(points)) == 60, "no point is timed twice"
    assert all(row in grid for row in found.rows)


def test_the_same_seed_finds_the_same(known):
    path, _ = known
    first, second = (tune(STUDY, trials=20, seed=3, results=path) for _ in range(2))
    assert first == second
    assert tune(STUDY, trials=20, seed=4, results=path).rows != first.rows


def test_a_grid_smaller_than_the_trials_is_timed_once_and_whole():
    found = tune(SMALL, trials=60)
    assert sorted(row["N"] for row in found.rows) == [64, 128, 256]
    assert found.best == {"N": 64, "factor": 2}
    assert tune(SMALL, figure="instructions").cost == found.rows[0]["instructions"]


def test_points_too_near_the_best_cannot_be_told_apart(monkeypatch):
    times = {64: 10.0, 128: 10.99, 256: 11.0}
    monkeypatch.setattr(search, "evaluate", lambda _, point: {
        "latency_us": times[point["N"]], "instructions": 1,
    })  # fmt: skip
    found = tune(SMALL)
    assert found.best["N"] == 64
    assert [point["N"] for point in found.alike] == [128]
    assert tune(SMALL, figure="instructions").alike == ()


def test_refused_points_are_trials_but_never_the_best():
    study = Study(SMALL.target, {"P": (129, 64, 256, 128), "factor": (2,)}, {"x": "float32[P, 8]"})
    found = tune(study)
    assert len(found.rows) == 4 and found.best["P"] in (64, 128)
    only = Study(SMALL.target, {"P": (129, 130), "factor": (2,)}, {"x": "float32[P, 8]"})
    with pytest.raises(ValueError, match="every point was refused: .*128"):
        tune(only)


def test_names_are_searched_as_well_as_numbers():
    study = Study(SMALL.target, {"arch": ("trn1", "trn3", "trn2"), "factor": (2,)},
                  {"x": "float32[128, 4096]"})  # fmt: skip
    grid = run_sweep(study)
    assert tune(study).cost == min(row["latency_us"] for row in grid)


def test_what_cannot_be_searched_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="at least one trial, not 0"):
        tune(SMALL, trials=0)
    with pytest.raises(ValueError, match="a point has no number 'speed'; it has latency_us, "):
        tune(SMALL, figure="speed")
    with monkeypatch.context() as patch:
        patch.setattr(search, "evaluate", None)  # no point is timed before
        with pytest.raises(ValueError, match=r"number 'latency_u' \(did you mean latency_us\?\)"):
            tune(SMALL, figure="latency_u")
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install \"neuron-sim\[sweep\]\""):
        tune(SMALL)


def test_the_command_tells_the_best_point(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["tune", SMALL.target, "--input", "x=float32[128, N]",
                 "--over", "N=64,128,256", "--over", "factor=2"]  # fmt: skip
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"] == {"N": 64, "factor": 2} and len(found["trials"]) == 3
    assert found["latency_us"] == min(row["latency_us"] for row in found["trials"])
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Best of 3 of 3 points: N 64, factor 2 (latency_us ")
    assert lines[1].startswith("Within 10% of it, which the simulation cannot tell apart: ")
    assert len(lines) == 6 and lines[3].split()[0] == "64"
