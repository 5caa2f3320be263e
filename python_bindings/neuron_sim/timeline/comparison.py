"""What differs between two recorded runs, one figure a row."""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuron_sim.timeline.recorded_run import RecordedRun


@dataclass(frozen=True)
class Difference:
    """A figure of two runs; None for what a run does not have."""

    group: str
    """"time", "busy", "critical path", "DMA queue", "total", "peak", "instruction", "line"."""
    name: str
    unit: str
    """"ps", "bytes" or "" for a count; of a peak that of its counter."""
    first: float | None
    second: float | None

    @property
    def change(self) -> float:
        """The second minus the first; what is not there counts as 0."""
        return (self.second or 0) - (self.first or 0)

    @property
    def ratio(self) -> float | None:
        """The second by the first, if both are there."""
        return self.second / self.first if self.first and self.second is not None else None


def compare_runs(first: RecordedRun, second: RecordedRun) -> list[Difference]:
    """All figures of both runs, those that are equal too, in the order of the page."""
    groups = [
        ("time", "ps", _phases),
        ("busy", "ps", lambda run: run.header["busy"]),
        ("critical path", "ps", lambda run: run.header["path"]),
        ("DMA queue", "", _queue_transfers),
        ("DMA queue", "bytes", _queue_bytes),
        ("DMA queue", "ps", _queue_busy),
        ("instruction", "", _instruction_counts),
    ]
    rows = []
    for group, unit, figures in groups:
        rows += _aligned(group, unit, figures(first), figures(second))
    rows += _totals(first, second)
    rows += _peaks(first, second)
    return rows + _lines(first, second)


def _aligned(
    group: str, unit: str, first: Mapping[str, float], second: Mapping[str, float]
) -> list[Difference]:
    names = dict.fromkeys([*first, *second])
    return [Difference(group, each, unit, first.get(each), second.get(each)) for each in names]


def _phases(run: RecordedRun) -> dict[str, int]:
    names = ("body", "nc_latency", "total_time")
    phases = {name: run.header["phases"][name] for name in names}
    return {name: end - start for name, (start, end) in phases.items()}


def _totals(first: RecordedRun, second: RecordedRun) -> list[Difference]:
    """The counters of the program; those of bytes say so in their names."""
    rows = _aligned("total", "", first.header["totals"], second.header["totals"])
    plain = [each for each in rows if not each.name.endswith("_bytes")]
    sizes = [each for each in rows if each.name.endswith("_bytes")]
    return plain + [Difference(e.group, e.name, "bytes", e.first, e.second) for e in sizes]


def _peaks(first: RecordedRun, second: RecordedRun) -> list[Difference]:
    peaks, units = [], {}
    for run in (first, second):
        of_run: dict[str, float] = {}
        for number, counter in enumerate(run.header["counters"]):
            values = run.columns[f"counter_value_{number}"]
            name = counter["name"]
            of_run[name] = max(of_run.get(name, 0.0), float(values.max(initial=0)))
            units[name] = counter["unit"]
        peaks.append(of_run)
    rows = _aligned("peak", "", *peaks)
    return [Difference(e.group, e.name, units[e.name], e.first, e.second) for e in rows]


def _instructions_of(run: RecordedRun, events: np.ndarray) -> np.ndarray:
    """Which instruction each of these events belongs to."""
    return run.columns["instance_instruction"][run.columns["event_instance"][events]]


def _instruction_counts(run: RecordedRun) -> dict[str, int]:
    counts: Counter[str] = Counter()
    names = [each["name"] for each in run.header["names"]["instructions"]]
    instances = np.bincount(run.columns["instance_instruction"], minlength=len(names))
    for name, count in zip(names, instances, strict=True):
        counts[name] += int(count)
    return dict(counts)


def _by_group(run: RecordedRun, kind: str, tracks: np.ndarray, values: np.ndarray | None) -> dict:
    """Sums of values (counts without any) over the tracks of a kind, by group."""
    listed = run.header["names"]["tracks"]
    sums = np.bincount(tracks, values, len(listed))
    totals: dict[str, int] = {}
    for track, total in zip(listed, sums, strict=True):
        if track["kind"] == kind:
            totals[track["group"]] = totals.get(track["group"], 0) + int(total)
    return totals


def _queue_transfers(run: RecordedRun) -> dict[str, int]:
    return _by_group(run, "queue", run.columns["event_track"], None)


def _queue_bytes(run: RecordedRun) -> dict[str, int]:
    return _by_group(run, "queue", run.columns["event_track"], run.columns["event_bytes"])


def _queue_busy(run: RecordedRun) -> dict[str, int]:
    """Time of its 16 rings together."""
    return _by_group(run, "ring", run.columns["share_track"], run.columns["share_busy"])


def _lines(first: RecordedRun, second: RecordedRun) -> list[Difference]:
    """Time on the critical path by line of the kernel. Lines of both runs with the same code, in
    the same order, are one; without the code those of the same number."""
    times = [_line_times(run) for run in (first, second)]
    rows = []
    for mine, other in _pairs(first, second, *times):
        name = _line_name(first, mine) if mine else _line_name(second, other or "")
        if mine and other and os.path.basename(mine) != os.path.basename(other):
            name += f" ({os.path.basename(other)} in B)"
        values = [each.get(line) if line else None
                  for each, line in zip(times, (mine, other), strict=True)]  # fmt: skip
        rows.append(Difference("line", name, "ps", *values))
    return sorted(rows, key=lambda row: -abs(row.change))


def _line_name(run: RecordedRun, source: str) -> str:
    return f"{os.path.basename(source)}  {run.header['lines'].get(source, '')}".strip()


def _line_times(run: RecordedRun) -> dict[str, int]:
    """Picoseconds of the critical path by "file:line", in the order of files and lines."""
    listed = run.header["names"]["instructions"]
    spent = run.columns["path_end"] - run.columns["path_start"]
    sums = np.bincount(_instructions_of(run, run.columns["path_event"]), spent, len(listed))
    times: dict[str, int] = dict.fromkeys((each["source"] for each in listed if each["source"]), 0)
    for instruction, total in zip(listed, sums, strict=True):
        if instruction["source"]:
            times[instruction["source"]] += int(total)
    return {source: times[source] for source in sorted(times, key=_place)}


def _place(source: str) -> tuple[str, int]:
    file, _, line = source.rpartition(":")
    return file, int(line) if line.isdecimal() else 0


def _pairs(
    first: RecordedRun, second: RecordedRun, mine: Mapping[str, Any], other: Mapping[str, Any]
) -> list[tuple[str | None, str | None]]:
    """Lines of both runs that are the same, then those of one run only."""
    lists: list[Sequence[str]] = [list(mine), list(other)]
    codes = [[run.header["lines"].get(line, os.path.basename(line)) for line in lines]
             for run, lines in zip((first, second), lists, strict=True)]  # fmt: skip
    matcher = difflib.SequenceMatcher(a=codes[0], b=codes[1], autojunk=False)
    pairs: list[tuple[str | None, str | None]] = []
    for tag, low, high, other_low, other_high in matcher.get_opcodes():
        if tag == "equal":
            pairs += zip(lists[0][low:high], lists[1][other_low:other_high], strict=True)
        else:
            pairs += [(line, None) for line in lists[0][low:high]]
            pairs += [(None, line) for line in lists[1][other_low:other_high]]
    return pairs
