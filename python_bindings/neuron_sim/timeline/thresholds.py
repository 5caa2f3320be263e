"""When the vendor calls something in a kernel inefficient, and how much of a run it concerns.

Each Threshold has a published limit with its source and a measure over the instructions of a
recording. A finding is a measure that is on the wrong side for more than a `least` share of the
work it is about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_GUIDE = "nki/deep-dives/nki_perf_guide.rst"
_DMA_GUIDE = "nki/deep-dives/nki-dma-bandwidth-guide.rst"

CONTIGUOUS_BYTES = 2048
"""Bytes in one piece from which a transfer comes near the peak."""
ELEMENTS = 128
"""Elements per partition from which an instruction outweighs its fixed costs."""
SPILL_SHARE = 0.3
"""Share of the traffic from which spills are worth a look."""
ENGINE_BOUND = 0.9
"""Busy share from which a kernel is bound by an engine in practice."""
MEMORY_BOUND = 0.6
"""Share of the memory bandwidth from which a kernel is bound by memory in practice."""
LEAST_SHARE = 0.1
"""Share of the work (ours, not published) from which a finding is reported."""


@dataclass(frozen=True)
class Work:
    """What the instructions of a program did in a run: arrays by instruction."""

    instructions: list[dict[str, Any]]
    busy: np.ndarray
    """Picoseconds of their engines."""
    dma_bytes: np.ndarray
    instances: np.ndarray
    weight_loads: int
    """Times that the array got other weights."""
    products: int
    """Instances of nc_matmul."""
    program: Any
    """The `_core.Program`."""
    counters: dict[str, int]
    """`Program.counters()`."""

    @property
    def partitions(self) -> int:
        """Partitions of the memories: on fewer of them, engines have idle lanes."""
        return int(self.program.facts["limits.partitions"]["value"])

    def share(self, amounts: np.ndarray, units: set[str], chosen: Callable[..., bool]) -> float:
        """The part of `amounts` of instructions on these units that the chosen ones have."""
        of_units = np.array([each["unit"] in units for each in self.instructions], dtype=bool)
        wanted = np.array([chosen(each) for each in self.instructions], dtype=bool)
        whole = float(amounts[of_units].sum()) if len(amounts) else 0.0
        return float(amounts[of_units & wanted].sum()) / whole if whole else 0.0


@dataclass(frozen=True)
class Threshold:
    """One published threshold."""

    title: str
    measure: Callable[[Work], float]
    """The share of the work that is on its wrong side, 0 to 1."""
    least: float
    """The share from which it is reported."""
    text: str
    """What to do, with {share} and {partitions}."""
    source: str


_COMPUTE = {"elementwise", "multiply_moving"}


def _small_transfers(work: Work) -> float:
    return work.share(
        work.dma_bytes, {"dma"}, lambda each: each["contiguous_bytes"] < CONTIGUOUS_BYTES
    )


def _few_partitions(work: Work) -> float:
    partitions = work.partitions
    return work.share(work.busy, _COMPUTE, lambda each: each["partitions"] < partitions)


def _short_tiles(work: Work) -> float:
    return work.share(work.busy, {"elementwise"}, lambda each: each["elements"] < ELEMENTS)


def _transposes(work: Work) -> float:
    return work.share(work.busy, {"multiply_moving"}, lambda each: each["transpose"])


def _weight_loads(work: Work) -> float:
    return work.weight_loads / work.products if work.products else 0.0


def _spills(work: Work) -> float:
    spills = work.program.spills
    moved = work.counters["hbm_read_bytes"] + work.counters["hbm_write_bytes"]
    return (spills["save_bytes"] + spills["reload_bytes"]) / moved if moved else 0.0


THRESHOLDS = (
    Threshold(
        "Small DMA transfers",
        _small_transfers,
        LEAST_SHARE,
        f"{{share}} of the transferred bytes move in pieces below {CONTIGUOUS_BYTES} bytes. Longer "
        "rows per partition, or several tiles in one transfer, come nearer to the peak.",
        f"{_DMA_GUIDE}: at least 2 KiB in one piece, 4 KiB to saturate",
    ),
    Threshold(
        "Partitions unused",
        _few_partitions,
        LEAST_SHARE,
        "{share} of the engines' time goes to instructions on fewer than {partitions} "
        "partitions. Lay the tile out so that it fills them (partition vectorization).",
        f"{_GUIDE}: Opt #5b",
    ),
    Threshold(
        "Short tiles",
        _short_tiles,
        LEAST_SHARE,
        f"{{share}} of the element-wise time goes to instructions on fewer than {ELEMENTS} "
        "elements per partition, whose fixed cost counts. Work on larger free dimensions.",
        f"{_GUIDE}: Opt #5a",
    ),
    Threshold(
        "Transposes on the Tensor engine",
        _transposes,
        LEAST_SHARE,
        "{share} of the Tensor engine's time goes to transposes. Load the operand transposed by "
        "DMA, or swap stationary and moving so that the result comes out as needed.",
        f"{_GUIDE}: Opt #8 (no number published)",
    ),
    Threshold(
        "Weights loaded again and again",
        _weight_loads,
        0.5,
        "The array gets new weights before {share} of the products. Keep the stationary tile for "
        "several moving tiles, or make the longer operand the stationary one.",
        f"{_GUIDE}: Opt #7 (no number published)",
    ),
    Threshold(
        "Spills",
        _spills,
        SPILL_SHARE,
        "{share} of the HBM traffic saves and reloads spilled tiles. Fuse operators, or use "
        "smaller blocks.",
        f"{_GUIDE}: Opt #2, over 30 %",
    ),
)
