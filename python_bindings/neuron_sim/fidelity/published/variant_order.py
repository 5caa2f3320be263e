"""Variants of one operator: does the simulator put the faster one first?"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuron_sim.fidelity.evaluate import Evaluated
from neuron_sim.fidelity.ladders import DISTANCE, ladder
from neuron_sim.fidelity.measurement import parse_measurement
from neuron_sim.fidelity.published.sources import (
    Launch,
    MeasuredKernel,
    PublishedKernel,
    Source,
)
from neuron_sim.fidelity.statistics import rank_correlation
from neuron_sim.timeline.interval import TOLD_APART

PATH = Path(__file__).parents[1] / "data" / "variants.toml"


def read_variants(path: Path) -> list[MeasuredKernel]:
    """The variants of a TOML file, measurements of the split `ratio` whose family is the
    operator."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    source = Source(document["repository"], document["commit"])
    variants = []
    for operator in document["operator"]:
        name = operator["name"]
        arguments = tuple(
            {"dtype": "float32", "shape": each} if isinstance(each, list) else each
            for each in operator["arguments"]
        )
        for variant, value in operator["measured"].items():
            file = f"workspaces/{name}/runs/{name}_{variant}.py"
            entry = {
                "id": f"{document['arch']}-{name}-{variant}".replace("_", "-"),
                "family": name,
                "arch": document["arch"],
                "kernel": f"{name} {variant}",
                "metric": document["metric"],
                "value": value,
                "split": "ratio",
                "source": f"{source.repository} {file}",
            }
            measurement = parse_measurement(entry)
            launch = Launch(file, document["function"], arguments, flags=document["flags"])
            kernel = PublishedKernel(measurement.id, source, (launch,))
            variants.append(MeasuredKernel(measurement, kernel))
    return variants


@functools.cache
def published_variants() -> tuple[MeasuredKernel, ...]:
    """All of them, in the order of the file."""
    return tuple(read_variants(PATH))


def _operator(evaluated: Sequence[Evaluated]) -> dict[str, Any]:
    found = ladder(evaluated)
    simulated = {each.measurement.id: each.simulated["published"] or 0.0 for each in evaluated}
    times = [pair for each in evaluated if (pair := each.pair("published")) is not None]
    rank = rank_correlation(times)
    return {
        "variants": len(evaluated),
        "timed": len(times),
        "pairs": found.pairs,
        "reversed": found.reversed,
        "reversed_far_apart": [
            (fast, slow)
            for fast, slow in found.reversed
            if simulated[fast] >= (1 + TOLD_APART) * simulated[slow]
        ],
        "rank_correlation": rank and round(rank, 3),
    }


def report(evaluated: Sequence[Evaluated]) -> dict[str, Any]:
    """By operator: variants, pairs measured more than DISTANCE apart, those simulated in another
    order, of these the ones simulated more than TOLD_APART apart, and Spearman's rank
    correlation."""
    operators = dict.fromkeys(each.measurement.family for each in evaluated)
    return {
        "operators": {
            name: _operator([each for each in evaluated if each.measurement.family == name])
            for name in operators
        },
        "cases": [
            {
                "id": each.measurement.id,
                "measured": each.measurement.value,
                "simulated": each.simulated["published"],
                **({"reason": each.reason} if each.reason else {}),
            }
            for each in evaluated
        ],
        "failed": [each.measurement.id for each in evaluated if each.has_kernel and each.reason],
    }


def lines(report: Mapping[str, Any]) -> Iterable[str]:
    """The report as text."""
    right = pairs = far = 0
    for name, each in report["operators"].items():
        wrong = len(each["reversed"])
        right, pairs = right + each["pairs"] - wrong, pairs + each["pairs"]
        far += len(each["reversed_far_apart"])
        rank = each["rank_correlation"]
        yield (
            f"{name:<20} {each['timed']:>3} of {each['variants']:>3} timed  "
            f"{each['pairs'] - wrong:>4} of {each['pairs']:>4} pairs in order  "
            f"rank {'-' if rank is None else format(rank, '.2f')}"
        )
    share = f" ({right / pairs:.0%})" if pairs else ""
    yield (
        f"{right} of {pairs} pairs measured {DISTANCE:.0%} apart are in order{share}; {far} of the "
        f"others are simulated {TOLD_APART:.0%} apart or more."
    )
    yield from (f"{case['id']}: {case['reason']}" for case in report["cases"] if "reason" in case)
