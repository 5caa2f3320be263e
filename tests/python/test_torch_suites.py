"""A bounded sample of PyTorch's own databases; `make test-torch` runs all of them."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "torch_suites"
# Of each suite; all of them take about two minutes on two cores.
SHARES = {
    "forward": 0.012,
    "backward": 0.04,
    "modules": 0.04,
    "optimizers": 0.04,
    "references": 0.012,
}


@pytest.mark.parametrize("suite", SHARES)
def test_a_sample_of_the_suite_equals_the_cpu(suite):
    result = subprocess.run(
        [sys.executable, str(FOLDER), "--suite", suite, "--share", str(SHARES[suite])],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]
    assert " passed" in result.stdout and "0 values" not in result.stdout


@pytest.fixture
def suites(monkeypatch):
    """The modules of the suites."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import cases
    import exclusions

    return cases, exclusions


def test_every_exclusion_has_a_reason_and_a_suite(suites, tmp_path):
    _, exclusions = suites
    assert exclusions.load()
    wrong = tmp_path / "wrong.toml"
    for suite, reason, message in (("forward", " ", "no reason"), ("forwards", "x", "no suite")):
        wrong.write_text(f'[[exclusion]]\nsuite = "{suite}"\nname = "a"\nreason = "{reason}"\n')
        with pytest.raises(ValueError, match=message):
            exclusions.load(wrong)


def test_an_exclusion_without_a_failing_case_is_stale(suites):
    cases, exclusions = suites
    fails, passes = (cases.Case("forward", name, "float32") for name in ("sort", "cat"))
    listed = [exclusions.Exclusion("forward", name, "*", "x") for name in ("so*", "cat", "gone")]
    assert exclusions.stale(listed, [fails, passes], [fails]) == listed[1:]
    assert exclusions.stale(listed, [cases.Case("modules", "a", "float32")], []) == []


def test_the_sample_is_the_same_everywhere(suites):
    cases, _ = suites
    assert cases.Case("forward", "add", "float32").place == 1476906567
