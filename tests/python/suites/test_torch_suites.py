"""A bounded sample of PyTorch's own databases; `make test-torch` runs all of them."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

FOLDER = Path(__file__).parents[2] / "torch_suites"
# Of each suite; all of them take about four minutes of one core.
SHARES = {
    "forward": 0.15, "backward": 0.5, "modules": 1.0, "optimizers": 1.0, "references": 0.15,
    "refusals": 0.25, "empty": 0.25,
}  # fmt: skip


@pytest.mark.parametrize(("name", "divisor"), [("neuron_sim", 1), ("neuron", 10)])
@pytest.mark.parametrize("suite", SHARES)
def test_a_sample_of_the_suite_equals_the_cpu(suite, name, divisor):
    share = str(SHARES[suite] / divisor)
    result = subprocess.run(
        [sys.executable, str(FOLDER), "--suite", suite, "--share", share, "--processes", "1"],
        env={**os.environ, "NEURON_SIM_DEVICE": name, "NEURON_SIM_SEMANTICS": "torch"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]
    assert " passed" in result.stdout and " 0 values" not in result.stdout


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


def test_a_tensor_that_is_there_twice_stays_one_tensor(suites):
    import placement

    x = torch.ones(3, requires_grad=True)
    for change in (placement.to_device, placement.fresh, placement.in_double):
        first, (second, other) = change([x, (x, x.detach())])
        assert first is second and first is not other and first.requires_grad


def test_equal_elements_may_come_in_any_order_but_each_once(suites):
    import peculiarities

    def seen(values, indices, **options):
        result = (values, torch.tensor(indices))
        op = SimpleNamespace(name="sort")
        return peculiarities.without_ties(op, (values, (), options), result)

    x = torch.tensor([1, 1, 2])
    assert str(seen(x, [0, 1, 2])) == str(seen(x, [1, 0, 2]))
    assert str(seen(x, [0, 1, 2])) != str(seen(x, [0, 0, 2]))
    assert str(seen(x, [0, 1, 2])) != str(seen(x, [0, 2, 1]))
    assert seen(x, [1, 0, 2], stable=True)[1].tolist() == [1, 0, 2]


def test_what_the_cpu_refuses_is_refused_with_the_same_class_of_error(suites):
    import comparison
    import operators

    def refuses(kind):
        def call():
            raise kind("no")

        return call

    operators._check_refused(refuses(IndexError), IndexError("the CPU's"))
    with pytest.raises(comparison.DifferenceError, match="IndexError: the CPU's"):
        operators._check_refused(lambda: None, IndexError("the CPU's"))
    with pytest.raises(ValueError, match="no"):
        operators._check_refused(refuses(ValueError), IndexError("the CPU's"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [(None, "0: no error, not IndexError"), (RuntimeError, "0: RuntimeError 'x', not IndexError"),
     (NotImplementedError, "not IndexError"), (IndexError, None)],
)  # fmt: skip
def test_an_error_input_must_be_refused_with_the_very_same_class(suites, monkeypatch, kind, text):
    import comparison
    import observation
    import refusals

    class Operator:
        def error_inputs(self, device):
            sample = SimpleNamespace(input=torch.ones(2, device=device), args=(), kwargs={})
            return [SimpleNamespace(sample_input=sample)]

        name = "op"

        def __call__(self, value):
            here = IndexError if value.device.type == "cpu" else kind
            if here is not None:
                raise here("x")

    monkeypatch.setattr(refusals, "entries", lambda: {"op": Operator()})
    if text is None:
        assert refusals.check_refusals("op", observation.Activity()) == 1
        return
    with pytest.raises(comparison.DifferenceError, match=text):
        refusals.check_refusals("op", observation.Activity())
