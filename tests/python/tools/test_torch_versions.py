"""tools/torch_versions.py: the pairs of Python and torch."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import build_wheels  # noqa: E402
import torch_versions as tool  # noqa: E402


def test_the_pairs_have_every_version_of_python_and_torch_that_is_built_for():
    pythons, releases = zip(*(pair.split("+") for pair in tool.PAIRS), strict=True)
    assert [release.rpartition(".")[0] for release in releases] == build_wheels.torch_versions()
    assert set(pythons) == set(build_wheels.python_versions())


def test_outcomes_are_counted_from_the_report_of_pytest(tmp_path):
    (tmp_path / "test_outcomes.py").write_text(
        "import pytest\n"
        "@pytest.fixture\ndef broken():\n    raise OSError\n"
        "def test_error(broken): pass\n"
        "def test_failure(): assert 0\n"
        "def test_skip(): pytest.skip()\n"
        "@pytest.mark.parametrize('number', range(4))\n"
        "def test_pass(number, record_property): record_property('number', number)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", f"--junit-xml={tmp_path / 'report.xml'}"]
    subprocess.run([*command, str(tmp_path)], capture_output=True)
    counts = tool.counts(tmp_path / "report.xml")
    assert counts == {"passed": 4, "skipped": 1, "failed": 2}
