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
