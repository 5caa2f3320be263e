"""A bounded part of the fuzz classes, and what they found before; `make fuzz` runs more."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "fuzz"
# Cases of each class; all of them take about 25 seconds of one core.
CASES = {"operators": 500, "nki": 500, "programs": 400, "files": 600, "commands": 600}
# The first seed: two blocks of operators that share nothing with known.toml.
SEEDS = {"operators": 1000}


@pytest.mark.parametrize("fuzz_class", CASES)
def test_no_case_of_the_sample_finds_anything(fuzz_class):
    cases, seed = str(CASES[fuzz_class]), str(SEEDS.get(fuzz_class, 0))
    result = subprocess.run(
        [sys.executable, str(FOLDER), "--class", fuzz_class, "--cases", cases, "--seed", seed],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]
    assert f"{fuzz_class}: {cases} cases" in result.stdout


@pytest.fixture
def modules(monkeypatch):
    """The modules of the fuzz classes."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import findings
    import mutations
    import worker

    return findings, worker, mutations


_CASES = """
import os, signal
from findings import FoundError

def run_case(seed):
    if seed == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if seed == 5:
        raise FoundError("a kind", "a text")
    if seed == 6:
        raise KeyError("nobody expects this")
    return "fine"
"""


def test_a_crash_costs_one_case_and_is_a_finding(modules, monkeypatch, tmp_path):
    findings, worker, _ = modules
    (tmp_path / "crashing_cases.py").write_text(_CASES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setitem(worker.CLASSES, "commands", "crashing_cases")
    script = tmp_path / "__main__.py"
    script.write_text(
        f"import sys; sys.path[:0] = [{str(FOLDER)!r}, {str(tmp_path)!r}]\n"
        "import worker\nworker.CLASSES['commands'] = 'crashing_cases'\n"
        "first, count, progress, results = sys.argv[sys.argv.index('--serve') + 1:]\n"
        "worker.serve('commands', int(first), int(count), progress, int(results))\n"
    )
    monkeypatch.setattr(worker, "__file__", str(tmp_path / "worker.py"))
    results = list(worker.run_batch("commands", 0, 9))
    found = [each for each in results if isinstance(each, findings.Finding)]
    assert [(each.seed, each.kind.split(" at ")[0]) for each in found] == [
        (3, "the process ended with SIGSEGV"),
        (5, "a kind"),
        (6, "KeyError"),
    ]
    assert found[1].repeat() == "python tests/fuzz --class commands --seed 5 --cases 1"
    assert sum(each["fine"] for each in results if not isinstance(each, findings.Finding)) == 3


def test_the_cases_of_a_seed_are_the_same_everywhere(modules):
    findings, _, mutations = modules
    assert findings.source_of("files", 7).random() == findings.source_of("files", 7).random()
    assert findings.source_of("files", 7).random() != findings.source_of("nki", 7).random()
    damaged = [mutations.damaged_bytes(findings.source_of("files", 1), b"abc") for _ in range(2)]
    assert damaged[0] == damaged[1] != b"abc"


def test_every_known_finding_has_a_class_and_a_reason(modules, tmp_path):
    findings, worker, _ = modules
    assert all(each.fuzz_class in worker.CLASSES for each in findings.load_known())
    wrong = tmp_path / "known.toml"
    wrong.write_text('[[known]]\nclass = "nki"\nkind = "a"\nreason = " "\n')
    with pytest.raises(ValueError, match="'a' has no reason"):
        findings.load_known(wrong)


def test_a_known_finding_covers_its_kind_only(modules):
    findings, _, _ = modules
    known = [findings.Known("nki", "old *: KeyError", "x")]
    kinds = ("old add: KeyError", "new add: KeyError", "old add: IndexError")
    found = [findings.Finding("nki", seed, kind, "") for seed, kind in enumerate(kinds)]
    assert findings.unknown(found, known) == found[1:]
    assert findings.unknown([findings.Finding("files", 0, kinds[0], "")], known)


def test_a_condition_of_a_known_finding_must_hold(modules):
    findings, _, _ = modules
    known = [findings.Known("nki", "add: *", "x", when="large")]
    found = [findings.Finding("nki", 1, "add: another value", "", names)
             for names in (["large"], ["small", "large"], [], ["small"])]  # fmt: skip
    assert findings.unknown(found, known) == found[2:]


@pytest.mark.torch
def test_conditions_hold_for_their_arguments_and_for_no_others(modules, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parent / "torch_suites"))
    import conditions
    import torch
    from neuron_sim.settings import device_name

    def given(*leaves, **options):
        return leaves[0], leaves[1:], options

    large, cpu = torch.tensor([200.0, -0.5]), torch.device("cpu")
    cases = {
        "an element is not finite": (given(large / 0), given(large, 3)),
        "a float is beyond the integers": (
            given(large, torch.int8), given(large, torch.uint8)),
        "a quotient is 2^46 or more": (
            given(torch.tensor([2.0**46]), 1), given(torch.tensor([2.0**45]), 1)),
        "a quotient by the first is 2^46 or more": (
            given(1, torch.tensor([2.0**46])), given(torch.tensor([2.0**46]), 1)),
        "a matrix has a deficient rank": (given(torch.ones(2, 2)), given(torch.eye(2))),
        "a square leaves the range": (given(large * 1e20), given(large)),
        "the call names no device": (given(3, dtype=torch.int8), given(3, device=cpu)),
        "a tensor has no elements": (given(3, large[:0]), given(3, large)),
        "a tensor has integers": (given(large.int()), given(large, 3)),
        "a tensor has floats of 16 bits": (given(large.half()), given(large, large.short())),
        "dtypes of floats are mixed": (given(large, large.half()), given(large, large.int())),
        "elements are equal": (given(torch.ones(2)), given(large)),
    }  # fmt: skip
    assert device_name() != "cpu" and set(cases) == set(conditions.CONDITIONS)
    for name, (held, not_held) in cases.items():
        assert name in conditions.conditions_of(held), name
        assert name not in conditions.conditions_of(not_held), name
    findings, _, _ = modules
    assert {each.when for each in findings.load_known()} - {""} <= set(cases)
