"""Whether simulated generations change with batch, context and prompt as the published ones do."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from neuron_sim.fidelity.published_models.inference import Comparison
from neuron_sim.model.report import aligned

_SIZES = ("batch", "context", "input")


@dataclass(frozen=True)
class Trend:
    """Two published rows of one model, instance and figure that differ in one size only."""

    model: str
    instance: str
    figure: str
    others: str
    """The two sizes that are equal."""
    size: str
    """The one that differs: batch, context or input."""
    smaller: int
    larger: int
    measured: float
    """The time with the larger size, relative to that with the smaller one."""
    simulated: float

    @property
    def verdict(self) -> str:
        """ "as measured", "contrary", or "unchanged" where the simulation does not depend on it."""
        if self.simulated == 1:
            return "unchanged"
        return "as measured" if (self.simulated > 1) == (self.measured > 1) else "contrary"


def trends(rows: Sequence[Comparison]) -> list[Trend]:
    """The trend of every pair of rows of generation that differ in one size only."""
    return list(_trends(rows))


def _trends(rows: Sequence[Comparison]) -> Iterator[Trend]:
    for one, other in itertools.combinations(rows, 2):
        if any(getattr(one, n) != getattr(other, n) for n in ("model", "instance", "figure")):
            continue
        differing = [name for name in _SIZES if getattr(one, name) != getattr(other, name)]
        if len(differing) != 1:
            continue
        size = differing[0]
        low, high = sorted((one, other), key=lambda row: getattr(row, size))
        yield Trend(
            one.model,
            one.instance,
            one.figure,
            ", ".join(f"{name} {getattr(one, name)}" for name in _SIZES if name != size),
            size,
            getattr(low, size),
            getattr(high, size),
            high.measured_ms / low.measured_ms,
            high.simulated_ms / low.simulated_ms,
        )


def as_objects(found: Sequence[Trend]) -> list[dict[str, Any]]:
    """The fields of Trend and `verdict` of each, for JSON."""
    return [{**asdict(trend), "verdict": trend.verdict} for trend in found]


def as_text(found: Sequence[Trend]) -> str:
    """A line per pair, then how many of them go as measured."""
    cells = [("figure", "model", "instance", "with", "from", "to", "measured", "simulated", "")]
    cells += [
        (
            trend.figure,
            trend.model,
            trend.instance,
            trend.others,
            f"{trend.size} {trend.smaller}",
            str(trend.larger),
            f"x {trend.measured:.2f}",
            f"x {trend.simulated:.2f}",
            trend.verdict,
        )
        for trend in found
    ]
    counts = [
        f"{sum(trend.verdict == verdict for trend in found)} {verdict}"
        for verdict in ("as measured", "unchanged", "contrary")
    ]
    return "\n".join([*aligned(cells), f"{len(found)} pairs: {', '.join(counts)}"])
