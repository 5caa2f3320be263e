"""Tables of docs/fidelity.md: thresholds that hardware met, and authors left out of the choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fidelity_tables import number, table
from neuron_sim.fidelity.left_out_report import chosen_text
from neuron_sim.fidelity.published.thresholds import TOLERANCE


def thresholds(stored: Mapping[str, Any] | None) -> list[str]:
    """How many thresholds are met, and a row for each one that is not."""
    if stored is None:
        return ["No run is stored."]
    missed = [case for case in stored["cases"] if not case["met"]]
    lines = [f"{stored['met']} of {stored['timed']} are met within {TOLERANCE:.0%}."]
    rows = [
        [
            f"`{case['id']}`",
            number(case["bound"]),
            number(case["simulated"]),
            number(case["over_percent"], "+.1f"),
            case.get("reason", ""),
        ]
        for case in missed
    ]
    titles = "not met;threshold us;simulated us;above %;does not run"
    return [*lines, "", *table(titles, "lrrrl", rows)] if rows else lines


def left_out(stored: Mapping[str, Any] | None) -> list[str]:
    """A row for each author that was left out, and one for all kernels."""
    if stored is None:
        return ["No run is stored."]
    rows = [
        [
            each["author"],
            each["kernels"],
            number(each["with_percent"], ".1f"),
            number(each["without_percent"], ".1f"),
            chosen_text(each["chosen"]),
        ]
        for each in stored["authors"]
    ]
    errors = [number(stored[f"{which}_percent"], ".1f") for which in ("with", "without")]
    rows.append(["**all**", stored["kernels"], *errors, ""])
    titles = "author left out;kernels;MAPE % with them;MAPE % without them;chosen otherwise"
    return table(titles, "lrrrl", rows)
