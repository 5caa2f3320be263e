"""Runs of whole models on the timeline page: their modules, their operators, and what the critical
path of each is spent on, one after the other.

Nothing is drawn per instruction, so the page of a hundred layers is small.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from neuron_sim.timeline.recorded_run import RecordedRun

LAUNCH: Final = "launch overhead"
_MODULES, _OTHERS = "Modules", "Waiting"
_ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync", "DMA")
_ABSENT = ("share_event", "share_track", "wait_event", "wait_slot")
_ABSENT_NUMBERS = (
    "share_start", "share_end", "share_busy", "share_bytes", "life_start", "life_end",
    "wait_completion", "wait_released", "location_offset",
)  # fmt: skip
_NONE = 0xFFFFFFFF


@dataclass(frozen=True)
class Span:
    """An operator of a module, or what comes before a launch (LAUNCH, without a module)."""

    module: str
    """Its path, "layers.3.attention"; "" for the model itself."""
    operator: str
    line: str
    """"file:line" of the model, "" where it is not known."""
    spent_us: Mapping[str, float]
    """Its part of the critical path by what it is spent on."""
    dma_bytes: float = 0

    @property
    def names(self) -> list[str]:
        """The modules around it, outermost first; a number belongs to the name before it."""
        path = re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", self.module)
        return path.split(".") if path else []


def spans_of(launches: Iterable[Any]) -> list[Span]:
    """The operators of launches (torch_backend.launches.Launch), in their order."""
    spans = []
    for launch in launches:
        spans.append(Span("", LAUNCH, "", {LAUNCH: launch.latency_us - launch.body_us}))
        spans += [
            Span(share["module"], share["operator"] or launch.name, share["source_line"],
                 share["path_us"], share["dma_bytes"])
            for share in launch.shares_by_source()
        ]  # fmt: skip
    return spans


def spans_run(title: str, architecture: str, spans: Sequence[Span]) -> RecordedRun:
    """A run of these spans, one after the other, for recorded_page()."""
    events = _Events()
    for span in spans:
        events.add(span)
    events.close(0)
    return events.run(title, architecture)


class _Events:
    """Collects the slices of the page: times in microseconds until run()."""

    def __init__(self) -> None:
        self._now = 0.0
        self._open: list[tuple[str, float]] = []  # modules by level, and when they began
        self._slices: list[tuple[float, float, str, str, str, float]] = []
        self._path: list[int] = []
        self._spent: dict[str, float] = defaultdict(float)

    def add(self, span: Span) -> None:
        names = span.names
        common = 0
        while common < min(len(names), len(self._open)) and names[common] == self._open[common][0]:
            common += 1
        self.close(common)
        self._open += [(name, self._now) for name in names[common:]]
        start, line = self._now, span.line or span.module
        for what, time in sorted(span.spent_us.items(), key=lambda item: -item[1]):
            if time <= 0:
                continue
            self._path.append(len(self._slices))
            self._add(self._now, time, _row(what), what, line, 0)
            self._spent[what] += time
            self._now += time
        self._add(start, self._now - start, "operators", span.operator, line, span.dma_bytes)

    def close(self, level: int) -> None:
        """Ends the modules that are open at this level and below."""
        while len(self._open) > level:
            name, start = self._open.pop()
            path = ".".join([name for name, _ in self._open] + [name])
            row = f"modules, level {len(self._open) + 1}"
            self._add(start, self._now - start, row, name, path, 0)

    def _add(self, start: float, time: float, row: str, name: str, line: str, moved: float) -> None:
        self._slices.append((start, time, row, name, line, moved))

    def run(self, title: str, architecture: str) -> RecordedRun:
        rows = sorted({each[2] for each in self._slices}, key=_order)
        kinds: dict[tuple[str, str, str], int] = {}
        instructions = [
            kinds.setdefault((name, row, line), len(kinds))
            for _, _, row, name, line, _ in self._slices
        ]
        columns = _columns(self._slices, instructions, rows, self._path)
        body = self._now * 1e6
        most = sorted(self._spent.items(), key=lambda item: -item[1])[:3]
        texts = ", ".join(f"{what} {time / (self._now or 1):.0%}" for what, time in most)
        header = {
            "kernel": title, "title": title, "architecture": architecture, "cores": 1,
            "body": body, "busy": {}, "bottleneck": None, "utilisation": {},
            "dma_bytes": sum(each[5] for each in self._slices), "dma_transfers": 0,
            "phases": {"total_time": (0, body), "preamble": (0, 0), "body": (0, body),
                       "postamble": (body, body), "nc_latency": (0, body)},
            "counters": [], "totals": {}, "lines": {}, "sources": {},
            "path": {what: time * 1e6 for what, time in self._spent.items()},
            "names": {
                "instructions": [
                    {"name": name, "engine": row, "core": 0, "source": line, "operands": [],
                     "unit": "", "partitions": 0, "elements": 0, "transpose": False,
                     "contiguous_bytes": 0}
                    for name, row, line in kinds
                ],
                "tiles": [], "slots": [],
                "tracks": [{"core": 0, "kind": _kind(row), "name": row, "group": _group(row)}
                           for row in rows],
            },
            "advice": {"bound": f"Most of the critical path: {texts}.", "roofline": "",
                       "what_if": [], "findings": [], "changes": None},
        }  # fmt: skip
        return RecordedRun(header, columns)


def _row(what: str) -> str:
    """The row of what a path is spent on: that of an engine, of DMA, of collectives, or Waiting."""
    first = what.partition(" ")[0]
    if first == "collective":
        return "Collectives"
    return first if first in _ENGINES else _OTHERS


def _group(row: str) -> str:
    return _MODULES if row == "operators" or row.startswith("modules") else row


def _kind(row: str) -> str:
    return "modules" if row == _OTHERS or _group(row) == _MODULES else "engine"


def _order(row: str) -> tuple[int, str]:
    rows = ("modules", "operators", *_ENGINES, "Collectives", _OTHERS)
    return next(i for i, each in enumerate(rows) if row.startswith(each)), row


def _columns(
    slices: Sequence[tuple[float, float, str, str, str, float]],
    instructions: Sequence[int],
    rows: Sequence[str],
    path: Sequence[int],
) -> dict[str, np.ndarray]:
    count = len(slices)
    start = np.array([each[0] for each in slices], np.float64) * 1e6
    time = np.array([each[1] for each in slices], np.float64) * 1e6
    track = np.array([rows.index(each[2]) for each in slices], np.uint32)
    own = np.arange(count, dtype=np.uint32)
    none, zeros = np.full(count, _NONE, np.uint32), np.zeros(count, np.uint32)
    works = np.array([each[2] != _OTHERS for each in slices], np.uint8)
    order = np.array(path, np.uint32)
    columns = {
        "event_start": start, "event_end": start + time, "event_done": start + time,
        "event_busy": np.zeros(count), "event_bytes": np.array([each[5] for each in slices], float),
        "event_kind": np.zeros(count, np.uint8), "event_instance": own, "event_track": track,
        "event_cause": none, "event_cause_kind": np.zeros(count, np.uint8),
        "instance_instruction": np.array(instructions, np.uint32), "instance_ready": start,
        "instance_start": start, "instance_bound": none, "instance_first_wait": zeros,
        "instance_first_location": zeros, "instance_track": track,
        "path_event": order, "path_works": works[path],
        "path_start": start[path], "path_end": (start + time)[path],
        "location_tile": np.zeros(0, np.int32), "location_partition": np.zeros(0, np.int32),
        "life_tile": np.zeros(0, np.int32),
    }  # fmt: skip
    columns |= {name: np.zeros(0, np.float64) for name in _ABSENT_NUMBERS}
    return columns | {name: np.zeros(0, np.uint32) for name in _ABSENT}
