"""Compares a profile with the simulation of the same instructions, one by one.

Both clocks start at the first instruction of the kernel. The pairs compared:

- LDWEIGHTS and MATMUL with the loads and multiplications of their product;
- DMA_DIRECT2D with the trigger on its engine, which for software descriptors follows their
  generation; the transfer itself is in no instruction of the profile;
- ACT_TABLE_LOAD with the table load of the Scalar engine.

Instructions that only wait have no counterpart: their time is in the start of the
instruction that waited.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from neuron_sim.fidelity.replay.program import Replay
from neuron_sim.fidelity.replay.reader import Trace
from neuron_sim.fidelity.replay.stream import KernelInstruction


@dataclass(frozen=True)
class Pair:
    """One instruction, real and simulated; nanoseconds, starts since the kernel's first one."""

    row: KernelInstruction
    real_start: float
    real_duration: float
    start: float
    duration: float


@dataclass(frozen=True)
class Figures:
    """How close a set of instructions is."""

    instructions: int
    duration_error: float
    """Median of |simulated - real| / real duration."""
    interval_error: float
    """Median relative error of the time between the starts of neighbours on an engine's queue."""
    start_error: float
    """Mean of |simulated - real| start, in nanoseconds."""


@dataclass(frozen=True)
class Comparison:
    """A profile and its simulation."""

    name: str
    pairs: tuple[Pair, ...]
    missing: tuple[KernelInstruction, ...]
    """Instructions of the profile that the simulation does not list."""
    real_body: float
    """First instruction to the end of the last data packet, in nanoseconds, as published."""
    body: float
    real_visible: float
    """First instruction to the last count of a DMA semaphore."""
    visible: float
    clock_phase: float

    @property
    def body_error(self) -> float:
        """(simulated - real) / real; not absolute."""
        return (self.body - self.real_body) / self.real_body

    @property
    def figures(self) -> Figures:
        return figures([self])


def intervals(comparison: Comparison) -> list[tuple[float, float]]:
    """(real, simulated) time from each instruction to the next one in its queue."""
    queues: dict[str, list[Pair]] = defaultdict(list)
    for pair in comparison.pairs:
        queues[pair.row.row.engine].append(pair)
    result = []
    for queue in queues.values():
        queue.sort(key=lambda pair: pair.row.row.pc)
        for first, second in zip(queue, queue[1:], strict=False):
            result.append((second.real_start - first.real_start, second.start - first.start))
    return result


def figures(comparisons: Iterable[Comparison]) -> Figures:
    """Figures of all instructions of several profiles together."""
    comparisons = list(comparisons)
    pairs = [pair for comparison in comparisons for pair in comparison.pairs]
    gaps = [gap for comparison in comparisons for gap in intervals(comparison)]
    return Figures(
        instructions=len(pairs),
        duration_error=statistics.median(
            abs(pair.duration - pair.real_duration) / pair.real_duration for pair in pairs
        ),
        interval_error=statistics.median(abs(ours - real) / real for real, ours in gaps),
        start_error=statistics.fmean(abs(pair.start - pair.real_start) for pair in pairs),
    )


_KINDS = {"ACT_TABLE_LOAD": "table_load", "DMA_DIRECT2D": "trigger"}


def _events(steps: Sequence[dict[str, Any]]) -> dict[tuple[int, str, str, int], dict[str, Any]]:
    """By instruction, kind, unit and pair."""
    return {(s["index"], s["kind"], s["unit"], s["pair"]): s for s in steps}


def _table_loads(
    replay: Replay, steps: Sequence[dict[str, Any]]
) -> list[tuple[KernelInstruction, dict[str, Any] | None]]:
    """The n-th load of the profile is the n-th of the simulation."""
    loads = [step for step in steps if step["kind"] == "table_load"]
    rows = [row for row in replay.stream if row.opcode == "ACT_TABLE_LOAD"]
    return [(row, loads[i] if i < len(loads) else None) for i, row in enumerate(rows)]


def _matched(
    replay: Replay, steps: Sequence[dict[str, Any]]
) -> list[tuple[KernelInstruction, dict[str, Any] | None]]:
    """Every instruction of the profile that the Program represents, with its event."""
    events = _events(steps)
    units = {"LDWEIGHTS": "load_stationary", "MATMUL": "multiply_moving", "DMA_DIRECT2D": "dma"}
    result = _table_loads(replay, steps)
    for index, step in enumerate(replay.steps):
        for opcode in dict.fromkeys(row.opcode for row in step.rows):
            unit = units.get(opcode, "elementwise")
            kind = _KINDS.get(opcode, "step")
            for number, row in enumerate(step.of(opcode)):
                result.append((row, events.get((index, kind, unit, number))))
    return sorted(result, key=lambda match: (match[0].row.start, match[0].row.line))


def kernel_start(replay: Replay) -> int:
    """Start of the kernel's first instruction in the profile."""
    return min(row.row.start for row in replay.stream)


def clock_phase(replay: Replay, window: float) -> float:
    """Where the windows of the PE clock lie relative to the kernel's start, in nanoseconds: on
    hardware they are free-running, so the profile decides. 0 when the clock never changed."""
    changes = [span.time for span in replay.trace.clock if span.k == span.n]
    return (changes[0] - kernel_start(replay)) % window if changes else 0.0


def _real_ends(trace: Trace) -> tuple[int, int]:
    """End of the kernel's last data packet, and the last count of one of its queues' semaphores."""
    packets = [p.end for p in trace.packets if p.queue_type.endswith("_dynamic")]
    counts = [s.time for s in trace.semaphores if "(q" in s.semaphore and s.value > 0]
    if not packets or not counts:
        raise ValueError(f"trace '{trace.name}' has no DMA packet of the kernel, or no semaphore.")
    return max(packets), max(counts)


def compare(
    replay: Replay, *, phase: float | None = None, window: float, architecture: str | None = None
) -> Comparison:
    """Simulates and compares. `phase` of the PE clock's windows (None: from the profile), whose
    length is `window`; `architecture` other than the Program's times it with those parameters."""
    if phase is None:
        phase = clock_phase(replay, window)
    steps = replay.program.steps(architecture=architecture, clock_phase_ns=phase)
    origin = min(step["start_ns"] for step in steps)
    real_origin = kernel_start(replay)
    matched = _matched(replay, steps)
    pairs = tuple(
        Pair(
            row=row,
            real_start=row.row.start - real_origin,
            real_duration=row.row.duration,
            start=event["start_ns"] - origin,
            duration=event["done_ns"] - event["start_ns"],
        )
        for row, event in matched
        if event is not None
    )
    packets, counts = _real_ends(replay.trace)
    transfers = [step for step in steps if step["kind"] == "transfer"]
    return Comparison(
        name=replay.trace.name,
        pairs=pairs,
        missing=tuple(row for row, event in matched if event is None),
        real_body=packets - real_origin,
        body=max(step["end_ns"] for step in transfers) - origin,
        real_visible=counts - real_origin,
        visible=max(step["done_ns"] for step in transfers) - origin,
        clock_phase=phase,
    )
