"""Latencies that the vendor published, beside simulated ones."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neuron_sim.model.estimate import Estimate, Setting, estimate
from neuron_sim.model.instances import instance
from neuron_sim.model.report import aligned
from neuron_sim.model.workload import Request, load

_PUBLISHED = Path(__file__).with_name("inference.json")


@dataclass(frozen=True)
class Comparison:
    """A published row: milliseconds that one core takes for a batch, simulated and measured."""

    model: str
    instance: str
    batch: int
    measured_ms: float
    simulated_ms: float
    """With the copies of inputs and results where the client waited for them."""
    bound: str
    figure: str = "latency"
    """Or "TTFT", "TPOT": the time to first token, and per output token, of a generation; "prompt",
    "token": the times of its programs on the device."""
    setting: str = ""
    """The cores and tokens of a generation."""
    context: int = 0
    """Tokens in the caches of a generation."""
    input: int = 0
    """Tokens of a prompt of a generation."""
    waits_for_host: bool = False
    """Whether the client had at most one request per core in flight, so that the measured time has
    the copies of inputs and results, which the simulated one of a latency has as well
    (`copies_ms`), and the rest of the host's part (host_overhead.py), which is not simulated."""
    copies_ms: float = 0.0
    """The part of `simulated_ms` that is copies (host_copies.py); the rest is the latency that
    `neuron-sim model` prints."""
    measured_mb: float = 0.0
    """Megabytes of HBM that a program reads and writes; 0 where none are published."""
    simulated_mb: float = 0.0

    @property
    def error(self) -> float:
        """Relative to the measured time."""
        return self.simulated_ms / self.measured_ms - 1

    @property
    def error_of_bytes(self) -> float:
        """Relative to the measured megabytes."""
        return self.simulated_mb / self.measured_mb - 1


def published() -> list[dict[str, Any]]:
    """The rows; `milliseconds` is the p50 latency of a client divided by the requests in flight
    per core, where that is more than one; `in_flight`: requests of the instance in flight,
    throughput times latency, rounded."""
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


@functools.cache
def _simulated(model: str, batch: int, sequence: int, image: int | None, cast: str) -> Estimate:
    request = Request(model, batch, sequence, image)
    return estimate(load(request), Setting(dtype="float32", auto_cast=cast))


def _compare(row: dict[str, Any]) -> Comparison:
    found = _simulated(
        row["model"], row["batch"], row.get("sequence", 128), row.get("image"), row["auto_cast"]
    )
    waits = row["in_flight"] <= instance(row["instance"]).cores
    copies = found.copies_ms if waits else 0.0
    return Comparison(
        row["model"],
        row["instance"],
        row["batch"],
        row["milliseconds"],
        found.latency_ms + copies,
        found.bound,
        waits_for_host=waits,
        copies_ms=copies,
    )


def mean_absolute_error(rows: Sequence[Comparison]) -> float:
    """The mean of |error|."""
    return sum(abs(row.error) for row in rows) / len(rows)


def rank_correlation(rows: Sequence[Comparison]) -> float:
    """Spearman's correlation of simulated and measured times, -1 to 1; at least two rows."""
    from scipy import stats  # type: ignore[import-untyped]  # of the extra "model"

    return float(
        stats.spearmanr(
            [row.measured_ms for row in rows], [row.simulated_ms for row in rows]
        ).statistic
    )


def as_objects(rows: Sequence[Comparison]) -> list[dict[str, Any]]:
    """The fields of Comparison and `error` of each row, for JSON."""
    return [{**asdict(row), "error": row.error} for row in rows]


def _bytes(row: Comparison) -> tuple[str, str, str]:
    return f"{row.measured_mb:.0f}", f"{row.simulated_mb:.0f}", f"{row.error_of_bytes:+.0%}"


def as_text(rows: Sequence[Comparison]) -> str:
    """A line per row, all of one figure, then the mean absolute error.

    The error of a latency is that of the two simulated columns together.
    """
    figure = rows[0].figure
    latency = figure == "latency"
    programs = figure in ("prompt", "token")
    cells = [
        (
            *(() if latency else (figure,)),
            *("model", "instance", "batch", "measured ms", "simulated ms"),
            *(("copies ms",) if latency else ()),
            *("error", "bound by"),
            *(("measured MB", "simulated MB", "error") if programs else ()),
        )
    ]
    for row in rows:
        cells.append(
            (
                *(() if latency else (row.setting,)),
                *(row.model, row.instance, str(row.batch), f"{row.measured_ms:.3f}"),
                f"{row.simulated_ms - row.copies_ms:.3f}",
                *((f"{row.copies_ms:.3f}",) if latency else ()),
                *(f"{row.error:+.0%}", row.bound),
                *(_bytes(row) if programs else ()),
            )
        )
    lines = [*aligned(cells), f"mean absolute error {mean_absolute_error(rows):.0%}"]
    if len({row.measured_ms for row in rows}) > 1:
        lines[-1] += f", rank correlation {rank_correlation(rows):.2f}"
    return "\n".join(lines)
