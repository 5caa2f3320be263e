"""Thresholds of public test harnesses that hardware is on record to have met: upper bounds."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuron_sim.fidelity.evaluate import Evaluated
from neuron_sim.fidelity.measurement import parse_measurement
from neuron_sim.fidelity.published.sources import (
    Launch,
    MeasuredKernel,
    PublishedKernel,
    Source,
)

PATH = Path(__file__).parents[1] / "data" / "thresholds.toml"

TOLERANCE = 0.05
"""Share of a threshold by which a simulated time may lie above it and still count as met."""


def _threshold(
    harness: Mapping[str, Any], solution: Mapping[str, Any], name: str, where: str
) -> MeasuredKernel:
    if name not in harness["cases"]:
        raise ValueError(f"{where} has no case '{name}' for {solution['repository']}.")
    case = harness["cases"][name]
    dtype, (height, width), channels = case["dtype"], case["image"], harness["channels"]
    shapes = ([1, channels, height, width], [channels, channels, 3, 3], [channels])
    owner = solution["repository"].partition("/")[0]
    identifier = f"{harness['arch']}-conv2d-{name}-{owner}"
    entry = {
        "id": identifier,
        "family": "conv2d",
        "arch": harness["arch"],
        "kernel": f"{harness['function']} pool_size={case['pool']}",
        "shapes": ", ".join(str(tuple(shape)) for shape in shapes),
        "dtype": dtype,
        "metric": harness["metric"],
        "value": case["bound"],
        "unit": "us",
        "split": "bound",
        "source": f"{solution['repository']} {harness['file']}; bound: {harness['source']}",
        "caveats": solution["evidence"],
    }
    launch = Launch(
        harness["file"],
        harness["function"],
        tuple({"dtype": dtype, "shape": shape} for shape in shapes),
        {"pool_size": case["pool"]},
        solution.get("flags", ""),
    )
    source = Source(solution["repository"], solution["commit"])
    return MeasuredKernel(parse_measurement(entry), PublishedKernel(identifier, source, (launch,)))


def read_thresholds(path: Path) -> list[MeasuredKernel]:
    """The thresholds of a TOML file, measurements of the split `bound`. ValueError for a solution
    with a case that its harness has not."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    harnesses = {each["arch"]: each for each in document["harness"]}
    return [
        _threshold(harnesses[solution["arch"]], solution, name, f"'{path.name}'")
        for solution in document["solution"]
        for name in solution["met"]
    ]


@functools.cache
def published_thresholds() -> tuple[MeasuredKernel, ...]:
    """All of them, in the order of the file."""
    return tuple(read_thresholds(PATH))


def report(evaluated: Sequence[Evaluated]) -> dict[str, Any]:
    """By threshold: the simulated time, percent above the bound, whether it is met."""
    cases = []
    for each in evaluated:
        pair = each.pair("published")
        case: dict[str, Any] = {
            "id": each.measurement.id,
            "source": each.measurement.source,
            "bound": each.measurement.value,
            "simulated": pair and float(f"{pair.simulated:.6g}"),
            "over_percent": pair and round(pair.error, 3),
            "met": pair is not None and pair.error <= 100 * TOLERANCE,
        }
        cases.append(case if each.reason is None else {**case, "reason": each.reason})
    timed = [case for case in cases if case["simulated"] is not None]
    return {
        "cases": cases,
        "timed": len(timed),
        "met": sum(case["met"] for case in timed),
        "failed": [each.measurement.id for each in evaluated if each.has_kernel and each.reason],
    }


def lines(report: Mapping[str, Any]) -> Iterable[str]:
    """The report as text."""
    width = max((len(case["id"]) for case in report["cases"]), default=0)
    for case in report["cases"]:
        start = f"{case['id']:<{width}}  {case['bound']:>7,.0f} us"
        if case["simulated"] is None:
            yield f"{start}  {case['reason']}"
        else:
            verdict = "met" if case["met"] else "missed"
            simulated = f"{case['simulated']:>9,.1f} us {case['over_percent']:>+6.1f} %"
            yield f"{start}  {simulated}  {verdict}"
    yield (
        f"{report['met']} of {report['timed']} thresholds are met within {TOLERANCE:.0%}; "
        f"{len(report['cases']) - report['timed']} have no simulated time."
    )
