"""benchmarks/speed: the table is complete, and each of its functions runs."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "models")]
command, figures, recording, rows, sizes = (
    importlib.import_module(f"speed.{name}")
    for name in ("command", "figures", "recording", "rows", "sizes")
)
ROWS = {row.name: row for row in rows.ROWS}


def test_every_goal_has_a_figure():
    goals = {
        (row.name, name): (goal.limit, goal.at_least)
        for row in rows.ROWS
        for name, (_, goal) in row.figures.items()
        if goal is not None
    }
    at_most = {
        ("convolution", "fp32"): 0.85,
        ("convolution", "fp16"): 0.9,
        ("convolution", "bf16"): 0.9,
        ("matmul", "fp32"): 0.8,
        ("resnet50", "eager"): 1.3,
        ("resnet50", "compiled"): 1.1,
        ("bert", "eager"): 1.3,
        ("bert", "compiled"): 1.1,
        **{("operators", name): 2.5 for name in ("add", "mm", "softmax", "conv", "x[idx]")},
        ("scalar", "new programs"): 0,
        **{("nki", f"tracing, {which}"): 2 for which in ("median", "slowest")},
        **{("nki", f"passes, {which}"): 5 for which in ("median", "slowest")},
        ("compile_bert", "first call"): 3,
        ("long_trace", "time"): 1,
        ("long_trace", "memory"): 150,
        ("memory", "above torch's"): 200,
        ("recording", "convolution"): 1.3,
        ("recording", "resnet50"): 1.3,
        ("page", "writing"): 1,
        ("page", "opening"): 2,
        ("page", "million, opening"): 5,
    }
    at_least = {
        ("timing_only", "fp32"): 12,
        ("timing_only", "fp16"): 12,
        ("gil", "other thread"): 50,
    }
    assert goals == {key: (limit, False) for key, limit in at_most.items()} | {
        key: (limit, True) for key, limit in at_least.items()
    }


@pytest.mark.parametrize("name", ROWS)
def test_a_row_measures_each_of_its_figures_once(name):
    measured = ROWS[name].measure(sizes.TINY)
    assert [each["name"] for each in measured] == list(ROWS[name].figures)
    for each in measured:
        if each["value"] is None:
            assert each["note"] and each["met"] is None
        elif each["pair_unit"]:
            assert each["ours"] >= 0 and each["other"] >= 0
    json.dumps(measured)


def test_a_goal_is_met_up_to_its_limit_and_from_it_on():
    at_most, at_least = figures.Goal(2.5), figures.Goal(12, at_least=True)
    assert [at_most.met(value) for value in (2.4, 2.5, 2.6, None)] == [True, True, False, None]
    assert [at_least.met(value) for value in (11.9, 12.0, 12.1, None)] == [False, True, True, None]


def test_a_figure_that_the_row_does_not_list_is_an_error():
    row = replace(ROWS["gil"], function=lambda sizes: [figures.Figure("another", 1.0)])
    with pytest.raises(KeyError, match="another"):
        row.measure(sizes.TINY)


def test_a_program_that_is_not_built_is_not_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(recording, "TIMELINE_RATE", tmp_path / "nothing")
    for each in ROWS["timing_only"].measure(sizes.TINY):
        assert each["value"] is None and each["note"] == "`make build` compiles it"


def test_the_command_measures_the_rows_that_it_is_told(monkeypatch, capsys):
    monkeypatch.setattr(command, "Sizes", lambda: sizes.TINY)
    assert command.main(["--rows", "scalar,operators", "--json"]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert [row["name"] for row in report["rows"]] == ["operators", "scalar"]
    assert report["host"]["threads"] == 1 and report["host"]["torch"]
    assert "operators, x[idx]: " in err and "goal at most 2.5: " in err
    with pytest.raises(SystemExit):
        command.main(["--rows", "nothing"])
    assert "'nothing' is no row" in capsys.readouterr().err


def test_a_missed_goal_is_printed_as_missed():
    entry = {"name": "fp32", "value": 2.0, "unit": "times torch", "ours": 4.0, "other": 2.0}
    entry |= {"pair_unit": "s", "goal": 1.5, "at_least": False, "met": False, "note": ""}
    assert command.line("matmul", entry) == (
        "matmul, fp32: 2 times torch, goal at most 1.5: MISSED (4 against 2 s)"
    )
    assert command.line("page", entry | {"value": None, "note": "why"}) == (
        "page, fp32: not measured (why)"
    )
