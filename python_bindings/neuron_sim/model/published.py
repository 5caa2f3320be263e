"""Latencies that the vendor published, beside simulated ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neuron_sim.model.estimate import estimate
from neuron_sim.model.report import aligned
from neuron_sim.model.workload import Request, load

_PUBLISHED = Path(__file__).with_name("published.json")


@dataclass(frozen=True)
class Comparison:
    """A published row: milliseconds that one core takes for a batch, simulated and measured."""

    model: str
    instance: str
    batch: int
    measured_ms: float
    simulated_ms: float
    bound: str

    @property
    def error(self) -> float:
        """Relative to the measured time."""
        return self.simulated_ms / self.measured_ms - 1


def published() -> list[dict[str, Any]]:
    """The rows; `milliseconds` is the p50 latency of a client divided by the requests in flight
    per core (throughput times latency over cores)."""
    return json.loads(_PUBLISHED.read_text())


def compare(model: str | None = None) -> list[Comparison]:
    """Simulates the published rows, or those of one model; ValueError when it has none."""
    name = None if model is None else model.rsplit("/", 1)[-1].lower()
    rows = [row for row in published() if name in (None, row["model"])]
    if not rows:
        raise ValueError(
            f"no latency of '{model}' is published; there are those of "
            f"{', '.join(sorted({row['model'] for row in published()}))}."
        )
    return [_compare(row) for row in rows]


def _compare(row: dict[str, Any]) -> Comparison:
    request = Request(row["model"], row["batch"], row.get("sequence", 128), row.get("image"))
    found = estimate(load(request))
    return Comparison(
        row["model"],
        row["instance"],
        row["batch"],
        row["milliseconds"],
        found.latency_ms,
        found.bound,
    )


def mean_absolute_error(rows: Sequence[Comparison]) -> float:
    """The mean of |error|."""
    return sum(abs(row.error) for row in rows) / len(rows)


def as_json(rows: Sequence[Comparison]) -> str:
    """A list of objects with the fields of Comparison and `error`."""
    return json.dumps([{**asdict(row), "error": row.error} for row in rows], indent=2)


def as_text(rows: Sequence[Comparison]) -> str:
    """A line per row, then the mean absolute error."""
    cells = [("model", "instance", "batch", "measured ms", "simulated ms", "error", "bound by")]
    for row in rows:
        cells.append(
            (
                row.model,
                row.instance,
                str(row.batch),
                f"{row.measured_ms:.3f}",
                f"{row.simulated_ms:.3f}",
                f"{row.error:+.0%}",
                row.bound,
            )
        )
    return "\n".join([*aligned(cells), f"mean absolute error {mean_absolute_error(rows):.0%}"])
