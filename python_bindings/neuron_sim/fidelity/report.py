"""The result of the suite as one JSON object."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from neuron_sim import _core
from neuron_sim.fidelity.evaluate import Evaluated
from neuron_sim.fidelity.ladders import ladder
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.statistics import (
    Pair,
    Statistics,
    by_family,
    error_percent,
    noise,
    summarize,
)


def _rounded(value: float | None) -> float | None:
    """Six digits: more would be noise in a stored report."""
    return None if value is None else float(f"{value:.6g}")


def _case(evaluated: Evaluated, stack: str) -> dict[str, Any]:
    measurement = evaluated.measurement
    pairs = {name: evaluated.pair(name) for name in evaluated.simulated}
    errors = {name: None if pair is None else pair.error for name, pair in pairs.items()}
    entry: dict[str, Any] = {
        "id": measurement.id,
        "family": measurement.family,
        "arch": measurement.arch,
        "author": measurement.author,
        "kind": evaluated.kind,
        "kernel": measurement.kernel,
        "metric": measurement.metric,
        "measured": measurement.value,
        "simulated": _rounded(evaluated.simulated[stack]),
        "unit": measurement.unit,
        "error_percent": _rounded(errors[stack]),
        "stack": evaluated.stack if stack == "published" else "off",
        "settings": evaluated.settings if stack == "published" else {},
        "passes_off": _rounded(evaluated.simulated["off"]),
        "passes_off_error_percent": _rounded(errors["off"]),
    }
    if evaluated.profile and stack == "published":
        entry["profile"] = {
            key: {
                "measured": stated,
                "simulated": _rounded(evaluated.profile[key]),
                "error_percent": _rounded(error_percent(stated, evaluated.profile[key])),
            }
            for key, stated in measurement.profile.items()
            if key in evaluated.profile
        }
    if evaluated.objection:
        entry["passes_objection"] = evaluated.objection
    if evaluated.skipped_passes and stack == "published":
        entry["skipped_passes"] = list(evaluated.skipped_passes)
    if evaluated.reason is not None:
        entry["reason"] = evaluated.reason
    return entry


def statistics_entry(statistics: Statistics | None) -> dict[str, Any] | None:
    """The numbers of a group in a report; None for no case."""
    if statistics is None:
        return None
    return {
        "cases": statistics.cases,
        "mape_percent": _rounded(statistics.mape),
        "median_percent": _rounded(statistics.median),
        "worst_percent": _rounded(statistics.worst),
        "bias_percent": _rounded(statistics.bias),
        "rank_correlation": _rounded(statistics.rank_correlation),
    }


def _groups(pairs: Sequence[Pair]) -> dict[str, Any]:
    families = {name: statistics_entry(each) for name, each in by_family(pairs).items()}
    return {"families": families, "overall": statistics_entry(summarize(pairs))}


OF_HELD_OUT_ROWS = frozenset({"launch.second_core"})
"""Values fitted to rows of held_out/. No case of the suite depends on them."""


def fitted_parameters(
    architectures: Sequence[str], file: str | None = None, passes: bool = True
) -> dict[str, list[str]]:
    """The keys fitted to the suite, by architecture; with `passes` also those of the compiler's
    scheduler.

    `file` stands in for the only architecture.
    """
    scheduler = _core.compiler_costs() if passes else {}
    costs = [name for name, cost in scheduler.items() if cost["certainty"] == "fitted"]
    compiler = {"compiler": sorted(costs)} if costs else {}
    return compiler | {
        name: sorted(
            key
            for key, fact in _core.architecture_facts(file or name).items()
            if fact["certainty"] == "fitted" and key not in OF_HELD_OUT_ROWS
        )
        for name in architectures
    }


def report(
    evaluated: Sequence[Evaluated],
    stack: str = "published",
    architecture: str | None = None,
    repeats: Sequence[Measurement] = (),
) -> dict[str, Any]:
    """The report of the cases with the passes of `stack` ("published" or "off").

    Errors are in percent. `repeats` are the runs that show the measurement noise.
    """
    pairs = {
        name: [pair for each in evaluated if (pair := each.pair(name)) is not None]
        for name in ("published", "off")
    }
    cores = sorted(
        {each.measurement.architecture for each in evaluated} & set(_core.architectures())
    )
    fitted = fitted_parameters(cores, architecture, stack != "off")
    return {
        "stack": stack,
        "cases": [_case(each, stack) for each in evaluated],
        **_groups(pairs[stack]),
        "fitted_parameters": sum(len(keys) for keys in fitted.values()),
        "fitted_parameter_keys": fitted,
        "without_kernel": [each.measurement.id for each in evaluated if not each.has_kernel],
        "failed": [
            each.measurement.id for each in evaluated if each.has_kernel and each.reason is not None
        ],
        "ladder": dataclasses.asdict(ladder(evaluated, stack)),
        "passes_off": _groups(pairs["off"]),
        "noise": [
            {**dataclasses.asdict(each), "spread_percent": _rounded(each.spread)}
            for each in noise(repeats)
        ],
    }
