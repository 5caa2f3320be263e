"""One run of a program, as the timeline page, comparisons and files hold it."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuron_sim.timeline.advice import advise
from neuron_sim.timeline.changes import Change
from neuron_sim.timeline.columns import column

SHOWN = (
    "kernel", "architecture", "cores", "body", "busy", "dma_bytes", "dma_transfers", "phases",
    "counters", "names", "path",
)  # fmt: skip
"""Members of a recording that the header takes as they are."""


@dataclass(frozen=True)
class RecordedRun:
    """A run: `header`, values of JSON, and `columns`, arrays by name (`Program.recording`)."""

    header: dict[str, Any]
    columns: dict[str, np.ndarray]

    @property
    def title(self) -> str:
        """Its heading, else the kernel's name."""
        return self.header["title"]


def record_run(
    program: Any,
    log: Sequence[int] = (),
    title: str | None = None,
    changes: Sequence[Change] | None = None,
) -> RecordedRun:
    """Records one run of a `_core.Program`. `log`: what `Program.run` returned, for programs whose
    control depends on data; `title`: its heading, else the kernel's name; `changes` as of
    advise()."""
    recording = program.recording(log=list(log))
    timing = program.time(log=list(log))
    header = {key: recording[key] for key in SHOWN}
    header |= {
        "title": title or program.kernel,
        "advice": advise(program, log, recording, changes).as_dict(),
        "utilisation": timing["utilisation"],
        "bottleneck": timing["bottleneck"],
        "totals": program.counters(log=list(log)),
        "lines": code_of(each["source"] for each in recording["names"]["instructions"]),
        "sources": sources_of(each["source"] for each in recording["names"]["instructions"]),
    }
    return RecordedRun(header, {name: column(recording, name) for name in recording["columns"]})


_LONGEST_SOURCE = 5_000
"""Lines between the first and the last instruction of a file that a page takes."""


def sources_of(sources: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The code from the first to the last line of "file:line"s, by file, of those that are there to
    read: the number of its first line, and its lines without the indentation that all have."""
    places: dict[str, list[int]] = {}
    for source in sources:
        file, _, line = source.rpartition(":")
        if line.isdecimal():
            places.setdefault(file, []).append(int(line))
    found = {}
    for file, lines in places.items():
        first, last = min(lines), max(lines)
        text = "".join(linecache.getlines(file)[first - 1 : last])
        if text and last - first < _LONGEST_SOURCE:
            found[file] = {"first": first, "lines": textwrap.dedent(text).splitlines()}
    return found


def code_of(sources: Iterable[str]) -> dict[str, str]:
    """The code of lines of kernels, by "file:line", of those whose file is there to read."""
    code = {}
    for source in dict.fromkeys(sources):
        file, _, line = source.rpartition(":")
        text = linecache.getline(file, int(line)).strip() if line.isdecimal() else ""
        if text:
            code[source] = text
    return code
