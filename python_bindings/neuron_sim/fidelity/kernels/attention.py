"""Attention kernels: with and without fusion, and autocomp's two ladders."""

from __future__ import annotations

import re

from neuron_sim.fidelity.case import Build, Case, Launch, total
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.programs import (
    attention_cached,
    attention_fusion,
    attention_hbm,
    attention_passes,
    attention_small_head,
)
from neuron_sim.fidelity.sizes import dtype_of, pair_of, step_of
from neuron_sim.fidelity.stacks import published_stack

Shape = tuple[int, int]


def _fusion(measurement: Measurement, shape: Shape, dtype: str) -> Build | None:
    """baseline_attention, fused_attention: q, k, v (128, seqlen)."""
    if shape[0] != 128 or shape[1] % 512:
        return None
    kernel = measurement.kernel.lower()
    builders = {"baseline": attention_fusion.baseline, "fused": attention_fusion.fused}
    for name, build in builders.items():
        if name in kernel and "attention" in kernel:
            return lambda: build(measurement.architecture, shape[1], dtype)
    return None


def _ladder(measurement: Measurement, shape: Shape, dtype: str, step: int) -> Build | None:
    """'attention step N': q, k, v (128, seqlen)."""
    if shape[0] != 128 or shape[1] % 512:
        return None
    architecture, length = measurement.architecture, shape[1]
    if step in attention_passes.STEPS:
        changes = attention_passes.STEPS[step]
        return lambda: attention_passes.attention(architecture, length, dtype, changes)
    builders = {0: attention_hbm.attention, 8: attention_cached.attention}
    build = builders.get(step)
    return None if build is None else lambda: build(architecture, length, dtype)


def _small_head(measurement: Measurement, shape: Shape, dtype: str, step: int) -> Build | None:
    """'sdattn step N': q, k, v (seqlen, head)."""
    length, head = shape
    if step not in attention_small_head.STEPS or length % 128 or head > 128:
        return None
    changes = attention_small_head.STEPS[step]
    architecture = measurement.architecture
    return lambda: attention_small_head.attention(architecture, length, head, dtype, changes)


def _build(measurement: Measurement) -> Build | None:
    shape, dtype, step = pair_of(measurement), dtype_of(measurement), step_of(measurement)
    if shape is None or dtype is None or 0 in shape:
        return None
    if step is None:
        return _fusion(measurement, shape, dtype)
    if re.search(r"\bsd[\s_-]?att", measurement.text) or "sdattn" in measurement.id:
        return _small_head(measurement, shape, dtype, step)
    return _ladder(measurement, shape, dtype, step)


def match(measurement: Measurement) -> Case | None:
    """Families attention and attention_trace."""
    if measurement.family not in ("attention", "attention_trace"):
        return None
    build = _build(measurement)
    if build is None:
        return None
    # neuron-profile's total_time includes the profiler's preamble; nki.benchmark's NC latency
    # includes the runtime's launch.
    reading = total(measurement.time)
    return Case(measurement, (Launch(build, published_stack(measurement)),), reading)
