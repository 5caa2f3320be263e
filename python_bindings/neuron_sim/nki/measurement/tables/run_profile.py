"""What one run of a kernel leaves behind: the recording, its times and counts, and the program's
arguments and facts. Every file and table of a profile is a view of it."""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from neuron_sim.files import LARGEST_UNPACKED

HEADER, COLUMNS = "recording.json", "columns.npz"
"""Members of a file that hold a profile."""

NONE = 0xFFFFFFFF
"""An index of a recording that refers to nothing."""


class EventKind(IntEnum):
    """Kinds of events of a recording, as in device/timeline/timeline.h."""

    STEP = 0
    WAIT = 1
    TABLE_LOAD = 2
    GENERATION = 3
    TRIGGER = 4
    TRANSFER = 5


@dataclass(frozen=True)
class RunProfile:
    """A run. Times in columns are picoseconds since the start of the body."""

    header: dict[str, Any]
    """All but the columns of `Program.recording()`, and what recorded.py adds."""
    columns: Mapping[str, np.ndarray]

    @property
    def kernel(self) -> str:
        return str(self.header["kernel"])

    @property
    def total(self) -> float:
        """The profiler's total_time in seconds."""
        return float(self.header["timing"]["profile_us"] * 1e-6)

    @property
    def instructions(self) -> list[dict[str, Any]]:
        """What the instructions of instances are, with their counters."""
        return list(self.header["names"]["instructions"])

    @property
    def tracks(self) -> list[dict[str, Any]]:
        return list(self.header["names"]["tracks"])

    @functools.cached_property
    def transfers(self) -> np.ndarray:
        """The events that are transfers of a DMA queue."""
        tracks = np.array([track["kind"] == "queue" for track in self.tracks], bool)
        is_transfer = self.columns["event_kind"] == EventKind.TRANSFER
        return np.flatnonzero(is_transfer & tracks[self.columns["event_track"]])

    @functools.cached_property
    def instruction_of_event(self) -> np.ndarray:
        """Index into `instructions` by event."""
        return self.columns["instance_instruction"][self.columns["event_instance"]]

    def of_instructions(self, values: list[Any]) -> np.ndarray:
        """Values by instruction, as values by instance."""
        return np.array(values)[self.columns["instance_instruction"]]

    def nanoseconds(self, picoseconds: np.ndarray) -> np.ndarray:
        """Whole nanoseconds since the start of the launch, rounded down as in Perfetto's file."""
        body = self.header["phases"]["body"][0]
        return ((body + picoseconds) // 1000).astype(np.int64)


def members_of(profile: RunProfile) -> dict[str, bytes]:
    """The profile as members of an archive."""
    content = io.BytesIO()
    columns: dict[str, Any] = dict(profile.columns)
    np.savez(content, **columns)
    return {HEADER: json.dumps(profile.header).encode(), COLUMNS: content.getvalue()}


def read_profile(members: Mapping[str, bytes]) -> RunProfile:
    """The profile in the members of an archive. KeyError, ValueError or OSError for others, and for
    columns that numpy would unpack to more than an archive may."""
    content = io.BytesIO(members[COLUMNS])
    with zipfile.ZipFile(content) as archive:
        if sum(member.file_size for member in archive.infolist()) > LARGEST_UNPACKED:
            raise ValueError(f"{COLUMNS} unpacks to more than {LARGEST_UNPACKED} bytes.")
    with np.load(content, allow_pickle=False) as stored:
        columns = {name: stored[name] for name in stored.files}
    return RunProfile(json.loads(members[HEADER]), columns)


def covered(starts: np.ndarray, ends: np.ndarray) -> float:
    """The time in which at least one of some spans lasts."""
    if len(starts) == 0:
        return 0.0
    order = np.argsort(starts, kind="stable")
    starts, until = starts[order], np.maximum.accumulate(ends[order])
    begins = np.maximum(starts, np.concatenate([starts[:1], until[:-1]]))
    return float(np.maximum(until - begins, 0).sum())
