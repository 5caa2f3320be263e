"""benchmarks/peers: every simulator gets the same problems, and one that cannot run says why."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))
command, problems, scale_sim, simulators = (
    importlib.import_module(f"peers.{name}")
    for name in ("command", "problems", "scale_sim", "simulators")
)
MATMUL = {"kind": "matmul", "rows": 16, "columns": 24, "inner": 8}
CONVOLUTION = {
    "kind": "convolution", "height": 9, "width": 7, "kernel": 3, "inputs": 2, "outputs": 4,
    "stride": 2,
}  # fmt: skip
OURS = simulators.SIMULATORS[0]


@pytest.fixture
def small(monkeypatch):
    """Small problems in place of those of the page."""
    monkeypatch.setattr(command, "PROBLEMS", {"matmul": MATMUL, "convolution": CONVOLUTION})


def test_multiply_accumulates_are_those_of_torchs_shapes():
    assert problems.multiply_accumulates(MATMUL) == 16 * 24 * 8
    out = torch.nn.functional.conv2d(torch.ones(1, 2, 9, 7), torch.ones(4, 2, 3, 3), stride=2)
    assert problems.multiply_accumulates(CONVOLUTION) == out.numel() * 2 * 3 * 3


def test_scale_sim_gets_the_sizes_in_the_order_of_its_tables():
    assert scale_sim.table(MATMUL).splitlines() == ["Layer,M,N,K,", "layer,16,24,8,"]
    assert scale_sim.table(CONVOLUTION).splitlines()[1] == "layer,9,7,3,3,2,4,2,"


@pytest.mark.parametrize("name", ["matmul", "convolution"])
def test_our_program_says_the_time_of_each_run_and_the_simulated_one(small, name):
    times = []
    for simulator in simulators.SIMULATORS[:2]:
        found = command.row(replace(simulator, runs=2), name, sys.executable)
        assert found["note"] == "" and found["first"] > 0 and found["again"] > 0
        times.append(found["found"]["us"])
    assert times[0] == times[1] > 0  # timing only, too


def test_a_simulator_that_is_not_there_has_rows_that_say_so(small, tmp_path):
    absent = tmp_path / "python"
    told = command.report(absent, [each for each in simulators.SIMULATORS if each.package])
    assert told["versions"] == {"scalesim": None, "jax": None}
    assert [row["simulator"] for row in told["rows"]] == [
        "SCALE-Sim", "Pallas, interpret=True", "Pallas, InterpretParams()", "SCALE-Sim"
    ]  # fmt: skip
    for row in told["rows"]:
        assert row["note"] == f"there is no {absent}" and row["first"] is None


def test_a_program_that_fails_tells_the_last_line_of_its_error(small):
    broken = replace(OURS, options={})
    assert command.row(broken, "matmul", sys.executable)["note"] == "KeyError: 'mode'"


def test_the_stored_rows_are_those_of_today():
    stored = json.loads((ROOT / "docs/peers.json").read_text(encoding="utf-8"))
    expected = [
        (name, each.name, problems.multiply_accumulates(problem))
        for name, problem in problems.PROBLEMS.items()
        for each in simulators.SIMULATORS
        if problem["kind"] in each.kinds
    ]
    found = [
        (row["problem"], row["simulator"], row["multiply_accumulates"]) for row in stored["rows"]
    ]
    assert found == expected
    assert stored["computes"] == {each.name: each.computes for each in simulators.SIMULATORS}
