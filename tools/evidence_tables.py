"""Tables of docs/fidelity.md about kernels that the model was not fitted to, all or in turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from fidelity_tables import ERROR_TITLES, foreign_files, number, statistics_cells, table
from neuron_sim.fidelity.bits import known_operations
from neuron_sim.fidelity.held_out.rows import held_out_rows
from neuron_sim.fidelity.published.thresholds import TOLERANCE
from neuron_sim.fidelity.report import statistics_entry
from neuron_sim.fidelity.statistics import Pair, summarize


def held_out(stored: Mapping[str, Any] | None) -> list[str]:
    """Errors per family, and by the execution that the rows' harness profiles."""
    lines = foreign_files(stored)
    if stored is None or stored["overall"] is None:
        return lines
    executions = {row.measurement.family: row.suite.execution for row in held_out_rows()}
    groups: defaultdict[int, list[Pair]] = defaultdict(list)
    for case in stored["cases"]:
        if case["simulated"] is not None:
            pair = Pair(case["family"], case["measured"], case["simulated"])
            groups[executions[case["family"]]].append(pair)
    rows = []
    for execution, pairs in sorted(groups.items()):
        errors = statistics_entry(summarize(pairs))
        rows.append(statistics_cells(str(execution), errors or {}, None)[:-1])
    return [*lines, "", *table(f"profiled execution;{ERROR_TITLES}", "lrrrrrr", rows)]


def bits() -> list[str]:
    """What is known of the bits of each operation."""
    operations = known_operations()
    rows = [list(operation.values()) for operation in operations]
    return table(";".join(operations[0]), "l" * len(rows[0]), rows)


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


def profiles(stored: Mapping[str, Any] | None) -> list[str]:
    """A row for each figure that a profile states beside the total."""
    rows = [
        [
            f"`{case['id']}`",
            key.removesuffix(" us").replace("_", " "),
            number(each["measured"] / scale, ",.1f"),
            number(each["simulated"] / scale, ",.1f"),
            number(each["error_percent"], "+.1f"),
        ]
        for case in (stored or {"cases": []})["cases"]
        for key, each in case.get("profile", {}).items()
        for scale in (1e6 if key.endswith("bytes") else 1,)
    ]
    if not rows:
        return ["No profile is stored."]
    return table("case;figure (MB, us);measured;simulated;error %", "llrrr", rows)


def variants(stored: Mapping[str, Any] | None) -> list[str]:
    """A row for each operator of which variants were measured, and one for all."""
    if stored is None:
        return ["No run is stored."]
    rows = [
        [
            f"`{name}`",
            f"{each['timed']} of {each['variants']}",
            each["pairs"],
            each["pairs"] - len(each["reversed"]),
            len(each["reversed_far_apart"]),
            number(each["rank_correlation"], ".2f"),
        ]
        for name, each in stored["operators"].items()
    ]
    sums = [sum(row[column] for row in rows) for column in (2, 3, 4)]
    titles = "operator;variants timed;pairs;in order;reversed, far apart;rank correlation"
    return table(titles, "lrrrrr", [*rows, ["**all**", "", *sums, "-"]])


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
        ]
        for each in stored["authors"]
    ]
    errors = [number(stored[f"{which}_percent"], ".1f") for which in ("with", "without")]
    rows.append(["**all**", stored["kernels"], *errors])
    titles = "author left out;kernels;MAPE % with them;MAPE % without them"
    return table(titles, "lrrr", rows)
