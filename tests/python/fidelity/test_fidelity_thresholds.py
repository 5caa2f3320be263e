"""Thresholds that hardware met, as data, and what counts as met."""

import re

import pytest
from neuron_sim import command_line
from neuron_sim.fidelity.evaluate import Evaluated
from neuron_sim.fidelity.published import evaluate as published
from neuron_sim.fidelity.published import thresholds
from neuron_sim.fidelity.published.sources import published_kernels

HARNESS = """
[[harness]]
arch = "trn2"
source = "course/assignment test.py"
file = "part/conv.py"
function = "conv"
metric = "NC latency p99"
channels = 64

[harness.cases]
half = { dtype = "float16", image = [8, 4], pool = 2, bound = 50 }

[[solution]]
repository = "student/work"
commit = "0000000000000000000000000000000000000000"
arch = "trn2"
met = ["half"]
flags = "--disable-dge"
evidence = "commit 'passes'"
"""


@pytest.fixture
def bound(tmp_path):
    path = tmp_path / "bounds.toml"
    path.write_text(HARNESS)
    (threshold,) = thresholds.read_thresholds(path)
    return threshold


def test_a_case_of_a_harness_is_a_call_and_a_bound(bound):
    (launch,) = bound.kernel.launches
    assert bound.measurement.id == bound.kernel.measurement == "trn2-conv2d-half-student"
    assert (bound.measurement.value, bound.measurement.split) == (50.0, "bound")
    assert bound.measurement.author == "student/work"
    assert launch.arguments == (
        {"dtype": "float16", "shape": [1, 64, 8, 4]},
        {"dtype": "float16", "shape": [64, 64, 3, 3]},
        {"dtype": "float16", "shape": [64]},
    )
    assert launch.keywords == {"pool_size": 2}
    assert launch.flags == "--disable-dge"
    assert bound.measurement.time == "latency_us"


def test_a_solution_with_a_case_that_its_harness_lacks_is_refused(tmp_path):
    path = tmp_path / "bounds.toml"
    path.write_text(HARNESS.replace('met = ["half"]', 'met = ["whole"]'))
    with pytest.raises(ValueError, match=r"^'bounds.toml' has no case 'whole' for student/work"):
        thresholds.read_thresholds(path)


@pytest.mark.parametrize("simulated, met", [(49.0, True), (52.5, True), (52.6, False)])
def test_a_threshold_is_met_up_to_five_percent_above_it(bound, simulated, met):
    evaluated = Evaluated(bound.measurement, {"published": simulated, "off": 99.0}, has_kernel=True)
    result = thresholds.report([evaluated])
    assert (result["timed"], result["met"], result["failed"]) == (1, int(met), [])
    text = list(thresholds.lines(result))
    assert text[0].endswith("met" if met else "missed")
    assert text[1] == f"{int(met)} of 1 thresholds are met within 5%; 0 have no simulated time."


def test_a_solution_without_a_simulated_time_is_neither_met_nor_missed(bound, tmp_path):
    evaluated = published.evaluate_kernel(bound.measurement, bound.kernel, tmp_path)
    result = thresholds.report([evaluated])
    assert (result["timed"], result["met"], result["failed"]) == (0, 0, [])
    text = list(thresholds.lines(result))
    assert text[0].endswith(f"no checkout '{tmp_path / 'student+work'}'")
    assert text[1].startswith("0 of 0 thresholds")


def test_the_thresholds_name_whole_commits_and_agree_with_the_suites():
    commits = {each.source.repository: each.source for each in published_kernels().values()}
    found = thresholds.published_thresholds()
    assert len({each.measurement.id for each in found}) == len(found) >= 40
    for each in found:
        source = each.kernel.source
        assert re.fullmatch("[0-9a-f]{40}", source.commit)
        assert commits.setdefault(source.repository, source) == source


def test_the_command_needs_checkouts_and_counts_what_has_none(tmp_path, capsys):
    with pytest.raises(SystemExit):
        command_line.main(["fidelity", "--thresholds"])
    assert "--thresholds needs --sources" in capsys.readouterr().err
    command = ["fidelity", "--thresholds", "--sources", str(tmp_path), "--arch", "trn2"]
    assert command_line.main(command) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "0 of 0 thresholds are met within 5%; 16 have no simulated time."
