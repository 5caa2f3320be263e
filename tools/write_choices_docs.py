#!/usr/bin/env python3
"""Writes docs/choices.md: the model's free choices and the measurements that determine each.

Usage: write_choices_docs.py [--check | --sources DIR]

With --sources, a folder of checkouts as for `neuron-sim fidelity`, the effect of every choice is
computed again, which takes half an hour, and stored in docs/choices.json. The page shows what is
stored; --check writes nothing and ends with 1 if the page is stale.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import neuron_sim._core as core
from fidelity_tables import number, table
from generated_page import fill, write_or_check
from neuron_sim.fidelity import choices
from neuron_sim.fidelity.measurement import load_measurements
from neuron_sim.fidelity.published.thresholds import TOLERANCE

FOLDER = Path(__file__).resolve().parents[1] / "docs"
PAGE = FOLDER / "choices.md"
STORED = FOLDER / "choices.json"

LEAST = 3
"""Kernels that should determine a choice; a rule of fewer is off in all stacks."""
MOST = 40
"""Choices that the model may have."""


def compute(checkouts: Path) -> dict[str, Any]:
    """The effects of all choices on the suite and on the authors' files."""
    counted = [each for each in load_measurements() if each.split == "calibration"]
    cases = choices.build(counted)
    stored: dict[str, Any] = {
        "cases": len(cases),
        "mape_percent": choices.mape(cases),
        "effects": [dataclasses.asdict(each) for each in choices.effects(cases)],
        "authors_files": choices.authors_files(counted, checkouts),
        "thresholds": {},
    }
    few = [
        each["choice"]
        for each in stored["effects"]
        if each["kind"] == "rule" and len(_determined_by(each, stored)) < LEAST
    ]
    stored["thresholds"] = choices.missed_thresholds(checkouts, few)
    return stored


def _costs() -> dict[str, dict[str, Any]]:
    return {
        name: fact for name, fact in core.compiler_costs().items() if fact["certainty"] == "fitted"
    }


def _determined_by(effect: dict[str, Any], stored: dict[str, Any]) -> list[str]:
    """Measurements in either column, and thresholds of hardware."""
    more = (stored[each].get(effect["choice"], []) for each in ("authors_files", "thresholds"))
    return list(dict.fromkeys([*effect["determined_by"], *itertools.chain(*more)]))


def _row(effect: dict[str, Any], stored: dict[str, Any]) -> list[str]:
    mark = "" if len(_determined_by(effect, stored)) >= LEAST else " (few)"
    is_rule = effect["kind"] == "rule"
    return [
        f"`{effect['choice']}`{mark}",
        str(len(effect["determined_by"])),
        str(len(stored["authors_files"].get(effect["choice"], []))) if is_rule else "-",
        number(effect["mape_percent"], ".2f"),
    ]


def _effects(kind: str, stored: dict[str, Any]) -> str:
    """The table of the rules or of the values, those that most kernels determine first."""
    effects = [effect for effect in stored["effects"] if effect["kind"] == kind]
    effects.sort(key=lambda effect: -len(_determined_by(effect, stored)))
    titles = "choice;kernels of the suite;authors' files;MAPE % without"
    return "\n".join(table(titles, "lrrr", [_row(effect, stored) for effect in effects]))


def page(stored: dict[str, Any] | None = None) -> str:
    """The page for the stored effects and the costs as they are."""
    stored = stored or load_stored()
    kinds = [effect["kind"] for effect in stored["effects"]]
    costs = [
        [f"`{name}`", number(fact["value"]), fact["unit"], fact["source"]]
        for name, fact in _costs().items()
    ]
    figures = {
        "rules": kinds.count("rule"),
        "values": kinds.count("value"),
        "costs": len(costs),
        "cases": stored["cases"],
        "mape": format(stored["mape_percent"], ".2f"),
        "change": format(choices.CHANGE, ".0%"),
        "tolerance": format(TOLERANCE, ".0%"),
        "factor": format(choices.CHANGED_VALUE, "g"),
        "least": LEAST,
        "most": MOST,
        "rule_table": _effects("rule", stored),
        "value_table": _effects("value", stored),
        "cost_table": "\n".join(table("cost;value;unit;source", "lrll", costs)),
    }
    return fill(PAGE.name, figures)


def load_stored() -> dict[str, Any]:
    """docs/choices.json."""
    stored: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return stored


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sources", type=Path, metavar="DIR")
    checkouts = parser.parse_args().sources
    if checkouts is not None:
        STORED.write_text(json.dumps(compute(checkouts), indent=1) + "\n", encoding="utf-8")
    return write_or_check(PAGE, page())


if __name__ == "__main__":
    raise SystemExit(main())
