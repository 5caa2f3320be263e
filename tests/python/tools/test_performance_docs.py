"""tools/write_performance_docs.py: docs/performance.md is what docs/performance.json says."""

import copy
import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / each) for each in ("tools", "benchmarks", "models")]
tool = importlib.import_module("write_performance_docs")
rows = importlib.import_module("speed.rows")


@pytest.fixture
def stored():
    return tool.load_stored()


def figure_of(stored, row, name):
    figures = {each["name"]: each for each in stored["rows"]}[row]["figures"]
    return {each["name"]: each for each in figures}[name]


def test_the_stored_report_has_every_row_and_figure_with_the_goals_of_today(stored):
    found = {
        (row["name"], each["name"]): (each["unit"], each["goal"], each["at_least"])
        for row in stored["rows"]
        for each in row["figures"]
    }
    assert found == {
        (row.name, name): (
            unit,
            None if goal is None else goal.limit,
            goal is not None and goal.at_least,
        )
        for row in rows.ROWS
        for name, (unit, goal) in row.figures.items()
    }
    assert {each["name"]: each["measured"] for each in stored["rows"]} == {
        row.name: row.measured for row in rows.ROWS
    }


def test_a_missed_goal_is_said_twice_and_a_met_one_counted(stored):
    changed = copy.deepcopy(stored)
    for _, each in tool.figures(changed):
        each["met"] = None if each["met"] is None else True
    goals = sum(each["met"] is True for _, each in tool.figures(changed))
    assert f"**{goals} of {goals} goals are met.**" in tool.page(changed)
    assert "**no**" not in tool.page(changed)
    figure_of(changed, "matmul", "fp32")["met"] = False
    text = tool.page(changed)
    assert f"**{goals - 1} of {goals} goals are met.** Missed: `matmul` fp32." in text
    assert text.count("**no**") == 1


def test_a_figure_that_was_not_measured_is_neither_met_nor_missed(stored):
    figure = figure_of(stored, "timing_only", "fp32")
    figure |= {"value": None, "met": None, "note": "`make build` compiles it"}
    line = "| `timing_only` | fp32 | - | million/s | >= 12 | not measured | {note} |"
    assert line.format(**figure) in tool.page(stored)


def test_wall_times_hold_on_an_idle_machine_only(stored):
    host = stored["host"] | {"processors": 2, "load_before": 0.9, "load_after": 0.9}
    assert "wall times hold" in tool.page(stored | {"host": host})
    assert "of up to 1 on 2" in tool.page(stored | {"host": host | {"load_after": 1.0}})


@pytest.mark.parametrize(
    ("speed_up", "share", "bound"),
    [(2, 0, "none seen"), (2.1, 0, "none seen"), (1.6, 0.25, "4"), (1, 1, "1"), (0.9, 1, "1")],
)
def test_the_share_on_one_thread_is_that_of_amdahl(speed_up, share, bound):
    assert tool.serial_share(speed_up) == pytest.approx(share)
    assert tool.bound(speed_up) == bound


def test_measured_stores_a_report_and_the_page_is_of_what_is_stored(monkeypatch, tmp_path, stored):
    monkeypatch.setattr(tool, "PAGE", tmp_path / "performance.md")
    monkeypatch.setattr(tool, "STORED", tmp_path / "performance.json")
    report = tmp_path / "report.json"
    report.write_text(json.dumps(stored))
    assert tool.main(["--measured", str(report)]) == 0
    assert tool.load_stored() == stored
    tool.STORED.write_text(json.dumps(stored | {"date": "2030-01-01"}))
    assert tool.main([]) == 0 and "2030-01-01" in tool.PAGE.read_text()


def test_a_report_of_some_rows_is_refused_and_nothing_written(monkeypatch, tmp_path, stored):
    monkeypatch.setattr(tool, "PAGE", tmp_path / "performance.md")
    monkeypatch.setattr(tool, "STORED", tmp_path / "performance.json")
    report = tmp_path / "report.json"
    report.write_text(json.dumps(stored | {"rows": stored["rows"][:1]}))
    with pytest.raises(ValueError, match=r"report\.json has no row 'scaling'"):
        tool.main(["--measured", str(report)])
    assert not tool.STORED.exists() and not tool.PAGE.exists()
