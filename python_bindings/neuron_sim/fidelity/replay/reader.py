"""Reads a profile of one kernel: instructions, DMA packets, semaphores, PE clock, counters.

The files of trace `T` are T_instructions.csv, T_dma.csv, T_semaphores.csv, T_pe_clock.csv and
T_summary.json. Whatever is malformed is a ValueError with file, line and field.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from neuron_sim.files import parse_json, read_text

TRACES = Path(__file__).parents[1] / "traces"
"""The profiles that come with the package."""

_INSTRUCTIONS = "_instructions.csv"
_MOST_DIGITS = 18  # of a number that a simulated time holds

Record = TypeVar("Record")


@dataclass(frozen=True)
class TraceInstruction:
    """One instruction as the profiler lists it; times in nanoseconds since the profile began."""

    line: int
    """In the file; the header is line 1."""
    engine: str
    """Sync, Scalar, Vector, GpSimd, Tensor (loads weights) or TensorMatrix (multiplies)."""
    opcode: str
    start: int
    duration: int
    """From start until the result is visible; for a DMA, the trigger, never the transfer."""
    pc: int
    """Place in the program of its engine, which a wait may overtake."""
    operands: str

    @property
    def end(self) -> int:
        return self.start + self.duration


@dataclass(frozen=True)
class Packet:
    """The data that one DMA engine moved at once."""

    dma_engine: int
    queue: int
    queue_type: str
    """instruction (fetch), hardware_dynamic, software_dynamic, ..."""
    start: int
    duration: int
    transfer_bytes: int

    @property
    def end(self) -> int:
        return self.start + self.duration


@dataclass(frozen=True)
class SemaphoreEvent:
    """A change of a semaphore to `value`."""

    time: int
    semaphore: str
    """A number, or as operands write it: `S[24] (qSyncDynamicHW)`."""
    value: int


@dataclass(frozen=True)
class ClockSpan:
    """The PE array's clock runs at k/n of its full rate; outside of all spans it is slow."""

    time: int
    duration: int
    k: int
    n: int


@dataclass(frozen=True)
class Trace:
    """The profile of one execution of one kernel."""

    name: str
    instructions: tuple[TraceInstruction, ...]
    """By start, then by line."""
    packets: tuple[Packet, ...]
    semaphores: tuple[SemaphoreEvent, ...]
    clock: tuple[ClockSpan, ...]
    summary: Mapping[str, Any]


class _Row:
    """A row of a table; reads fields and names file, line and field of wrong ones."""

    def __init__(self, path: Path, line: int, fields: Mapping[str, str]) -> None:
        self.path, self.line, self._fields = path, line, fields

    def text(self, field: str) -> str:
        value = self._fields[field].strip()
        if not value:
            raise self.error(f"field '{field}' is empty")
        return value

    def optional(self, field: str) -> str:
        return self._fields[field].strip()

    def number(self, field: str) -> int:
        """A whole number, not negative."""
        value = self._fields[field].strip()
        if not value.isdecimal():
            raise self.error(f"field '{field}' is '{value}', not a whole number")
        if len(value) > _MOST_DIGITS:
            raise self.error(f"field '{field}' has more than {_MOST_DIGITS} digits")
        return int(value)

    def error(self, what: str) -> ValueError:
        return ValueError(f"trace file '{self.path.name}', line {self.line}: {what}.")


def _rows(path: Path, columns: Sequence[str]) -> list[_Row]:
    reader = csv.reader(io.StringIO(read_text(path, "trace file"), newline=""))
    try:
        return list(_checked_rows(path, reader, columns))
    except csv.Error as error:
        raise ValueError(f"trace file '{path.name}', line {reader.line_num}: {error}.") from None


def _checked_rows(path: Path, reader: Any, columns: Sequence[str]) -> Iterator[_Row]:
    header: list[str] = next(reader, [])
    for column in columns:
        if column not in header:
            raise ValueError(f"trace file '{path.name}', line 1: no column '{column}'.")
    for fields in reader:
        line = reader.line_num
        if len(fields) != len(header):
            raise ValueError(
                f"trace file '{path.name}', line {line}: {len(fields)} fields, "
                f"the header has {len(header)}."
            )
        yield _Row(path, line, dict(zip(header, fields, strict=True)))


def _table(path: Path, columns: str, record: Callable[[_Row], Record]) -> tuple[Record, ...]:
    return tuple(record(row) for row in _rows(path, columns.split()))


def _instruction(row: _Row) -> TraceInstruction:
    return TraceInstruction(
        line=row.line,
        engine=row.text("engine"),
        opcode=row.text("opcode"),
        start=row.number("start_ns"),
        duration=row.number("duration_ns"),
        pc=row.number("pc"),
        operands=row.optional("operands"),
    )


def _packet(row: _Row) -> Packet:
    return Packet(
        dma_engine=row.number("dma_engine"),
        queue=row.number("queue"),
        queue_type=row.text("queue_type"),
        start=row.number("start_ns"),
        duration=row.number("duration_ns"),
        transfer_bytes=row.number("transfer_bytes"),
    )


def _semaphore(row: _Row) -> SemaphoreEvent:
    return SemaphoreEvent(row.number("time_ns"), row.text("semaphore"), row.number("value"))


def _clock_span(row: _Row) -> ClockSpan:
    span = ClockSpan(*(row.number(field) for field in ("time_ns", "duration_ns", "k", "n")))
    if not 1 <= span.k <= span.n:
        raise row.error(f"field 'k' is {span.k}, not 1 to n = {span.n}")
    return span


def _summary(path: Path) -> Mapping[str, Any]:
    summary = parse_json(read_text(path, "trace file"), f"trace file '{path.name}'")
    if not isinstance(summary, dict):
        raise ValueError(f"trace file '{path.name}', line 1: not a JSON object.")
    return summary


def read_trace(folder: Path | str, name: str) -> Trace:
    """Reads the five files of trace `name` in `folder`."""
    start = Path(folder) / name
    files = {
        part: start.with_name(start.name + part)
        for part in (_INSTRUCTIONS, "_dma.csv", "_semaphores.csv", "_pe_clock.csv")
    }
    instructions = _table(
        files[_INSTRUCTIONS], "engine opcode start_ns duration_ns pc operands", _instruction
    )
    return Trace(
        name=name,
        instructions=tuple(sorted(instructions, key=lambda i: (i.start, i.line))),
        packets=_table(
            files["_dma.csv"],
            "dma_engine queue queue_type start_ns duration_ns transfer_bytes",
            _packet,
        ),
        semaphores=_table(files["_semaphores.csv"], "time_ns semaphore value", _semaphore),
        clock=_table(files["_pe_clock.csv"], "time_ns duration_ns k n", _clock_span),
        summary=_summary(start.with_name(start.name + "_summary.json")),
    )


def trace_names(folder: Path | str = TRACES) -> list[str]:
    """Names of all traces of a folder, sorted. ValueError when there are none."""
    names = [path.name[: -len(_INSTRUCTIONS)] for path in Path(folder).glob("*" + _INSTRUCTIONS)]
    if not names:
        raise ValueError(f"no trace (*{_INSTRUCTIONS}) in folder '{folder}'.")
    return sorted(names)
