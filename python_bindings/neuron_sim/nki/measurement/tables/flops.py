"""Floating-point operations of an instruction as the vendor's profiler counts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Flops(NamedTuple):
    """Columns of Instruction; "adjusted" ones are scaled to the throughput of bfloat16."""

    raw_flops: int
    adjusted_flops: int
    flops_transpose: int
    adjusted_flops_transpose: int


def bfloat16_scale(dtype: str, generation: int) -> float:
    """Operations of bfloat16 that take the time of one of this dtype (the vendor's schema)."""
    if dtype == "float32":
        return 4.0
    if dtype.endswith("_x4"):  # MXFP8 and MXFP4
        return 0.25
    if dtype == "uint8" or (dtype.startswith("float8") and generation > 2):
        return 0.5
    return 1.0


def flops_of(counters: Mapping[str, Any], generation: int) -> Flops:
    """FLOPs of one instance of an instruction with those counters; 2 per multiply-accumulate."""
    transposes = 2 * counters["transpose_multiply_accumulates"]
    raw = 2 * counters["multiply_accumulates"] + transposes
    scale = bfloat16_scale(counters["dtype"], generation)
    return Flops(raw, round(raw * scale), transposes, round(transposes * scale))
