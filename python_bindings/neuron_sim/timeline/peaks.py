"""What the hardware could do at most, from the facts of an architecture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Facts = Mapping[str, Mapping[str, Any]]
"""`Program.facts`: value, unit, source and certainty by dotted key."""


def peak_operations(facts: Facts) -> float:
    """Floating-point operations per second of the Tensor engine with 16-bit operands: each cell of
    its array multiplies and adds once per cycle."""
    cells = facts["limits.partitions"]["value"] * facts["limits.stationary_free"]["value"]
    return float(2 * cells * facts["clocks.tensor"]["value"] * 1e9)


def hbm_bandwidth(facts: Facts) -> float:
    """Bytes per second that HBM gives to a core."""
    return float(facts["dma.hbm_bytes_per_nanosecond"]["value"] * 1e9)


def hbm_share(facts: Facts, moved_bytes: float, latency_us: float) -> float:
    """The part of hbm_bandwidth() that moving so many bytes in so many microseconds takes."""
    return float(moved_bytes / (latency_us * 1e3) / facts["dma.hbm_bytes_per_nanosecond"]["value"])


def dma_bandwidth(facts: Facts) -> float:
    """Bytes per second that the DMA engines of a core load together."""
    engines = facts["dma.engines"]["value"] * facts["dma.bytes_per_nanosecond"]["value"]
    return float(engines * 1e9)
