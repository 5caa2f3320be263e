"""tools/write_performance_docs.py: docs/performance.md is what docs/performance.json says."""

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / each) for each in ("tools", "benchmarks", "models")]
tool = importlib.import_module("write_performance_docs")


@pytest.fixture
def stored():
    return tool.load_stored()


def report(value, row="matmul", name="fp32, 4096", processor="P", date="2030-01-01"):
    figure = {"name": name, "value": value, "ours": 3.0, "other": 2.0, "pair_unit": "s", "note": ""}
    figure |= {"unit": "times torch", "goal": 1, "at_least": False, "met": True}
    host = {"processor": processor, "peak": 117.4, "processors": 2, "torch": "2.13", "python": "3"}
    return {
        "date": date,
        "host": host | {"load_before": 0.1, "load_after": 0.2},
        "repetitions": [5, 3],
        "rows": [{"name": row, "measured": "", "took": 1, "figures": [figure]}],
    }


def test_every_stored_figure_is_one_of_the_rows_of_today(stored):
    known = {(row, figure) for row, figure, _, _ in tool.figures()}
    for column in stored:
        for row, figure in tool.values(column):
            assert (row, figure) in known or row == tool.SCALING


def test_a_report_replaces_its_rows_in_the_column_of_its_processor(stored):
    first = tool.with_report(stored, report(1.5))
    assert [each["host"]["processor"] for each in first[1:]] == [
        each["host"]["processor"] for each in stored
    ]
    later = tool.with_report(first, report(3.0, "linear", "fp32, 1", date="2030-02-01"))
    later = tool.with_report(later, report(2.5, date="2030-03-01"))
    assert len(later) == len(first) and later[1:] == stored
    assert [(entry["name"], entry["date"]) for entry in later[0]["rows"]] == [
        ("matmul", "2030-03-01"),
        ("linear", "2030-02-01"),
    ]
    assert {key[0]: each["value"] for key, each in tool.values(later[0]).items()} == {
        "matmul": 2.5,
        "linear": 3.0,
    }


def test_a_row_that_is_measured_no_more_leaves_the_column(stored):
    column = tool.with_report(stored, report(1.5))[0]
    column["rows"].append({"name": "gone", "date": "2020-01-01", "figures": []})
    assert [row["name"] for row in tool.with_report([column], report(2.0))[0]["rows"]] == ["matmul"]


def test_the_page_has_a_column_per_processor_and_bold_values_that_miss(stored):
    columns = tool.with_report(stored, report(1.05))
    columns = tool.with_report(columns, report(1.06, processor="Q"))
    text = tool.page(columns)
    assert "| A | Q | 117 | 2030-01-01 | 2.13 | 3 | 0.1, 0.2 | 0 of 1 met |" in text
    assert "| B | P | 117 | 2030-01-01 | 2.13 | 3 | 0.1, 0.2 | 1 of 1 met |" in text
    start = "| `matmul` | fp32, 4096 | times torch | <= 1.05 | **1.06** | 1.05 | "
    assert start in text and text.partition(start)[2].splitlines()[0].endswith("3 s; 2 s |")


def test_a_figure_that_was_not_measured_is_neither_met_nor_missed(stored):
    columns = tool.with_report(stored, report(None))
    assert tool.judged(columns[0]) == (0, 0)
    assert "| `matmul` | fp32, 4096 | times torch | <= 1.05 | - | " in tool.page(columns)


def test_wall_times_hold_on_an_idle_machine_only(stored):
    host = stored[0]["host"] | {"processors": 2, "load_before": 0.9, "load_after": 0.9}
    assert "wall times hold" in tool.reliability({"host": host})
    assert "of up to 1 on 2" in tool.reliability({"host": host | {"load_after": 1.0}})


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
    tool.STORED.write_text(json.dumps(stored))
    measured = tmp_path / "report.json"
    measured.write_text(json.dumps(report(1.5)))
    assert tool.main(["--measured", str(measured)]) == 0
    assert tool.load_stored() == tool.with_report(stored, report(1.5))
    assert "2030-01-01" in tool.PAGE.read_text()
    tool.STORED.write_text(json.dumps(stored))
    assert tool.main([]) == 0 and "2030-01-01" not in tool.PAGE.read_text()
