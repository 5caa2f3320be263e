"""docs/fidelity.md says what is stored, and what is stored comes out again."""

import importlib
import json
import sys
from pathlib import Path

import pytest
from neuron_sim.fidelity.evaluate import evaluate
from neuron_sim.fidelity.measurement import load_measurements

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
tool = importlib.import_module("write_fidelity_docs")
tables = importlib.import_module("fidelity_tables")
evidence_tables = importlib.import_module("evidence_tables")

QUICK_FAMILIES = ("vector_add", "engine", "transpose")


@pytest.fixture(scope="module")
def stored():
    return tool.load_stored()


def test_the_errors_behind_intervals_are_those_of_the_stored_report(stored):
    assert tool.ERRORS.read_text(encoding="utf-8") == tool.errors_text(stored), (
        f"{tool.ERRORS.name} is stale; run tools/write_fidelity_docs.py --page"
    )


def test_every_published_measurement_is_stored_with_its_value(stored):
    counted = [each for each in load_measurements() if each.split == "calibration"]
    cases = stored["fidelity"]["cases"]
    assert [(case["id"], case["measured"]) for case in cases] == [
        (each.id, each.value) for each in counted
    ]


def test_the_stored_numbers_come_out_again(stored):
    cases = {case["id"]: case for case in stored["fidelity"]["cases"]}
    quick = [each for each in load_measurements() if each.family in QUICK_FAMILIES]
    compared = 0
    for measurement in quick:
        if measurement.split == "calibration":
            result = evaluate(measurement)
            case = cases[measurement.id]
            for name, key in (("published", "simulated"), ("off", "passes_off")):
                assert result.simulated[name] == pytest.approx(case[key], rel=1e-5), (
                    f"docs/fidelity.json is stale ({measurement.id}); "
                    "run tools/write_fidelity_docs.py"
                )
            compared += 1
    assert compared >= 10


def test_a_miss_has_the_reason_of_the_first_mechanism_that_names_it():
    text = "| cases | what |\n|---|---|\n| `a-1`, `b-` | the first |\n| `a-` | the second |\n"
    assert [tables.reason(name, text) for name in ("a-1x", "a-2", "b-3", "c")] == [
        "the first", "the second", "the first", "not explained",
    ]  # fmt: skip
    case = {"id": "a-2", "error_percent": -20.5}
    near = {"id": "a-1", "error_percent": 20.0}
    unknown = {"id": "c", "error_percent": None}
    assert tables.misses({"cases": [near, case, unknown]}, text)[2:] == [
        "| `a-2` | -20.5 | the second |"
    ]
    assert tables.misses({"cases": [near, unknown]}) == ["None."]


def test_every_reason_belongs_to_a_case_that_exists(stored):
    names = [case["id"] for case in stored["fidelity"]["cases"]]
    mechanisms = tables.mechanisms(tables.MISSES.read_text(encoding="utf-8"))
    assert len(mechanisms) > 5
    for beginnings, _ in mechanisms:
        for start in beginnings:
            assert any(name.startswith(start) for name in names), start


def test_published_stores_the_commands_report(monkeypatch, tmp_path, stored):
    report = tmp_path / "report.json"
    case = {"id": "a", "simulated": None, "error_percent": None, "reason": "r", "metric": "m"}
    report.write_text(
        '{"families": {}, "overall": null, "failed": ["a"], "noise": [], '
        '"ladder": {"pairs": 0, "reversed": []}, "cases": [' + json.dumps(case) + "]}"
    )
    monkeypatch.setattr(tool, "STORED", tmp_path / "fidelity.json")
    monkeypatch.setattr(tool, "PAGE", tmp_path / "fidelity.md")
    monkeypatch.setattr(tool, "ERRORS", tmp_path / "measured_errors.json")
    (tmp_path / "fidelity.json").write_text((ROOT / "docs" / "fidelity.json").read_text())
    assert tool.main(["--published", str(report)]) == 0
    del case["metric"]
    kept = tool.load_stored()
    assert kept["published"]["cases"] == [case]
    assert kept["fidelity"] == stored["fidelity"]
