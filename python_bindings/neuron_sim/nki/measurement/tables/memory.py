"""Tables of what fills SBUF and PSUM."""

from __future__ import annotations

import re

import numpy as np

from neuron_sim.nki.measurement.tables.columns import Columns
from neuron_sim.nki.measurement.tables.run_profile import RunProfile
from neuron_sim.nki.measurement.tables.schema import SCHEMA
from neuron_sim.nki.measurement.tables.step_function import step_function

_PARTITION = re.compile(r"partition_(\d+)_util_percent")
PARTITIONS = [
    int(found[1]) for field in SCHEMA["SbufUsage"] if (found := _PARTITION.fullmatch(field.name))
]
"""Those that the vendor's tables show."""


class _Lives:
    """The lives of tiles in one memory of one core, as columns."""

    def __init__(self, profile: RunProfile, memory: str, core: int) -> None:
        tiles, columns = profile.header["names"]["tiles"], profile.columns
        ours = [each["memory"] == memory and each["core"] == core for each in tiles]
        lives = np.flatnonzero(np.array(ours, bool)[columns["life_tile"]])
        self.tile = columns["life_tile"][lives]
        self.start, self.end = columns["life_start"][lives], columns["life_end"][lives]

        def of_tiles(name: str) -> np.ndarray:
            return np.array([each[name] for each in tiles])[self.tile]

        self.address, self.bytes = of_tiles("address"), of_tiles("bytes")
        self.first, self.partitions = of_tiles("start_partition"), of_tiles("partitions")
        self.label = of_tiles("label")

    def holds(self, partition: int) -> np.ndarray:
        """Whether the tile lies in a partition, by life."""
        return (self.first <= partition) & (partition < self.first + self.partitions)


def sbuf_usage_table(profile: RunProfile) -> Columns:
    """SbufUsage: shares of SBUF that tiles fill, from 0 to 1."""
    facts = profile.header["facts"]
    size, partitions = facts["limits.sbuf_partition"], facts["limits.partitions"]
    parts = []
    for core in range(profile.header["cores"]):
        lives = _Lives(profile, "sbuf", core)
        heights = {"avg_util_percent": lives.bytes * lives.partitions / (size * partitions)}
        for each in PARTITIONS:
            heights[f"partition_{each}_util_percent"] = lives.bytes * lives.holds(each) / size
        parts.append(_usage(profile, lives, heights, core))
    return _joined(parts)


def psum_usage_table(profile: RunProfile) -> Columns:
    """PsumUsage: shares of the banks of PSUM that tiles fill, from 0 to 1."""
    facts = profile.header["facts"]
    bank, banks = facts["limits.psum_bank"], int(facts["limits.psum_banks"])
    partitions = facts["limits.partitions"]
    parts = []
    for core in range(profile.header["cores"]):
        lives = _Lives(profile, "psum", core)
        whole = lives.bytes * lives.partitions / (bank * banks * partitions)
        heights = {"avg_util_percent": whole}
        for each in range(banks):
            until = np.minimum(lives.address + lives.bytes, (each + 1) * bank)
            inside = np.maximum(until - np.maximum(lives.address, each * bank), 0)
            filled = inside * lives.partitions / (bank * partitions)
            heights[f"bank_{each}_util_percent"] = filled
        parts.append(_usage(profile, lives, heights, core))
    return _joined(parts)


def _usage(
    profile: RunProfile, lives: _Lives, heights: dict[str, np.ndarray], core: int
) -> Columns:
    functions = {
        name: step_function(lives.start, lives.end, values) for name, values in heights.items()
    }
    times = next(iter(functions.values())).times
    return {
        "timestamp": profile.nanoseconds(times),
        **{name: function.values for name, function in functions.items()},
        "pcore_idx": np.full(len(times), core),
    }


def _joined(parts: list[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def sbuf_allocation_table(profile: RunProfile) -> Columns:
    """SbufAllocation: which tile lies where in the partitions that the vendor shows, and when."""
    parts = []
    for core in range(profile.header["cores"]):
        lives = _Lives(profile, "sbuf", core)
        for partition in PARTITIONS:
            ours = lives.holds(partition)
            parts.append({
                "start_ts": profile.nanoseconds(lives.start[ours]),
                "end_ts": profile.nanoseconds(lives.end[ours]),
                "start_address": lives.address[ours],
                "end_address": lives.address[ours] + lives.bytes[ours] - 1,
                "partition": np.full(ours.sum(), partition),
                "tensor_name": lives.label[ours],
                "pcore_idx": np.full(ours.sum(), core),
            })  # fmt: skip
    return _joined(parts)
