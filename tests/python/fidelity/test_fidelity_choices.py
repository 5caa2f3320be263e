"""The model's free choices, and the kernels that determine each."""

import dataclasses
import importlib
import sys
from pathlib import Path

import pytest
from neuron_sim import _core
from neuron_sim.fidelity import choices
from neuron_sim.fidelity.measurement import load_measurements
from neuron_sim.fidelity.report import OF_HELD_OUT_ROWS, fitted_parameters

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
tool = importlib.import_module("write_choices_docs")


@pytest.fixture(scope="module")
def small():
    """Three built cases of one family."""
    family = [each for each in load_measurements() if each.family == "vector_add"]
    return choices.build([each for each in family if each.split == "calibration"][:3])


def test_every_rule_that_a_stack_has_on_is_a_choice_but_what_is_asked_for():
    names = choices.rules()
    assert "schedule" in names and "hoist_invariants" in names
    assert "disable_dge" not in names
    assert "forward_stores" not in names, "off in every stack"
    assert set(names) < set(_core.pass_settings())


def test_a_case_without_a_rule_that_its_stack_lacks_is_unchanged(small):
    direct = next(each for each in small if each.case.launches[0].stack.endswith("direct"))
    assert choices.without_rule(direct, "hoist_invariants") == direct.simulated
    assert choices.without_rule(direct, "rename_buffers") > 1.1 * direct.simulated


def test_a_choice_is_determined_by_the_cases_that_change_without_it(small):
    found = {each.choice: each for each in choices.effects(small)}
    rule = found["rename_buffers"]
    changed = [
        each.case.measurement.id
        for each in small
        if abs(choices.without_rule(each, "rename_buffers") / each.simulated - 1) > choices.CHANGE
    ]
    assert rule.kind == "rule" and list(rule.determined_by) == changed
    assert rule.mape_percent > choices.mape(small)
    assert found["select_activations"].determined_by == ()
    assert {each.kind for each in found.values()} == {"rule", "value"}


def test_the_page_names_every_choice_of_today():
    stored = tool.load_stored()
    fitted = fitted_parameters(["trn1", "trn2"], passes=False)
    expected = choices.rules() + [f"{name} {key}" for name, keys in fitted.items() for key in keys]
    assert [effect["choice"] for effect in stored["effects"]] == expected, "stale choices.json"
    text = tool.page(stored)
    for effect in stored["effects"]:
        assert f"| `{effect['choice']}`" in text


def test_a_value_fitted_to_held_out_rows_is_no_choice_of_the_suite():
    facts = _core.architecture_facts("trn2")
    assert all(facts[key]["certainty"] == "fitted" for key in OF_HELD_OUT_ROWS)
    for name in ("trn1", "trn2"):
        assert not OF_HELD_OUT_ROWS & set(fitted_parameters([name])[name])


def test_three_kernels_determine_each_choice_and_there_are_no_more_than_forty():
    stored = tool.load_stored()
    few = [
        each["choice"]
        for each in stored["effects"]
        if len(tool._determined_by(each, stored)) < tool.LEAST
    ]
    assert few == []
    assert 20 < len(stored["effects"]) + len(tool._costs()) <= tool.MOST == 40


def test_choices_that_few_kernels_determine_are_marked():
    effect = dataclasses.asdict(choices.Effect("a", "rule", ("x", "y"), 5.0))
    stored = {"cases": 9, "mape_percent": 5.0, "effects": [effect]}
    stored |= {"authors_files": {}, "thresholds": {}}
    few = tool.page(stored)
    assert "| `a` (few) | 2 | 0 | 5.00 |" in few
    stored["authors_files"] = {"a": ["z"]}
    assert "| `a` | 2 | 1 | 5.00 |" in tool.page(stored)
    stored |= {"authors_files": {}, "thresholds": {"a": ["t"]}}
    assert "| `a` | 2 | 0 | 5.00 |" in tool.page(stored)


def test_a_threshold_determines_the_rules_without_which_it_is_missed(monkeypatch, tmp_path):
    first, second, *others = choices.published_thresholds()
    over = {"missed": 1.051, "met": 1.049}

    def times(measurement, checkouts, rules, kernel):
        if measurement.id == first.measurement.id:
            return dict.fromkeys(["published", *rules], 1.06 * measurement.value)
        if measurement.id == second.measurement.id:
            return {}  # no checkout
        return {"published": measurement.value} | {
            rule: over[rule] * measurement.value for rule in rules
        }

    monkeypatch.setattr(choices, "without_rules", times)
    found = choices.missed_thresholds(tmp_path, ["missed", "met"])
    assert found == {"missed": tuple(each.measurement.id for each in others), "met": ()}
