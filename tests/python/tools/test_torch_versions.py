"""tools/torch_versions.py: the pairs of Python and torch."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import build_wheels  # noqa: E402
import torch_versions as tool  # noqa: E402


def test_the_pairs_have_every_version_of_python_and_torch_that_is_built_for():
    pythons, releases = zip(*(pair.split("+") for pair in tool.PAIRS), strict=True)
    assert [release.rpartition(".")[0] for release in releases] == build_wheels.torch_versions()
    assert set(pythons) == set(build_wheels.python_versions())


def test_every_pair_is_stored_and_no_test_failed():
    rows = json.loads(tool.STORED.read_text(encoding="utf-8"))
    assert [row["pair"] for row in rows] == list(tool.PAIRS)
    assert all(row["failed"] == 0 < row["passed"] for row in rows)


def test_outcomes_are_counted_from_the_report_of_pytest(tmp_path):
    tests = tmp_path / "test_outcomes.py"
    tests.write_text(
        "import pytest\n"
        "@pytest.fixture\ndef broken():\n    raise OSError\n"
        "def test_error(broken): pass\n"
        "def test_failure(): assert 0\n"
        "def test_skip(): pytest.skip()\n"
        "@pytest.mark.parametrize('number', range(4))\n"
        "def test_pass(number, record_property): record_property('number', number)\n"
    )
    (tmp_path / "test_others.py").write_text("def test_other(): pass\n")

    def run(report, *files):
        command = (sys.executable, "-m", "pytest", "-q", f"--junit-xml={tmp_path / report}")
        subprocess.run([*command, *files], capture_output=True, cwd=tmp_path)
        return tmp_path / report

    reports = [run("whole.xml", ".")]
    counts = Counter(tool.merged(reports).values())
    assert counts == {"passed": 5, "skipped": 1, "failed": 2}
    failed = {name for name, outcome in tool.merged(reports).items() if outcome == "failed"}
    assert failed == {"test_outcomes.py::test_error", "test_outcomes.py::test_failure"}
    tests.write_text("def test_failure(): pass\n")
    reports.append(run("again.xml", "test_outcomes.py"))
    outcomes = dict.fromkeys(
        ("test_outcomes.py::test_failure", "test_others.py::test_other"), "passed"
    )
    assert tool.merged(reports) == outcomes
