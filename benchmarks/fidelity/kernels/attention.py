"""Attention kernels: with and without fusion on trn2."""

from __future__ import annotations

from neuron_sim.fidelity.case import Build, Case, Launch, total
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.programs import attention_fusion
from neuron_sim.fidelity.stacks import stack_of
from neuron_sim.fidelity.wording import dtype_of, pair_of


def _fusion(measurement: Measurement) -> Build | None:
    """baseline_attention, fused_attention: q, k, v (128, seqlen)."""
    shape, dtype = pair_of(measurement), dtype_of(measurement)
    if shape is None or dtype is None or shape[0] != 128 or shape[1] % 512 or not shape[1]:
        return None
    kernel = measurement.kernel.lower()
    builders = {"baseline": attention_fusion.baseline, "fused": attention_fusion.fused}
    for name, build in builders.items():
        if name in kernel and "attention" in kernel:
            return lambda: build(measurement.architecture, shape[1], dtype)
    return None


def match(measurement: Measurement) -> Case | None:
    """Families attention and attention_trace."""
    if measurement.family not in ("attention", "attention_trace"):
        return None
    build = _fusion(measurement)
    if build is None:
        return None
    # neuron-profile's total_time has the profiler's preamble in it; nki.benchmark's NC latency has
    # the runtime's launch.
    profiled = "profile" in measurement.metric.lower() or "total_time" in measurement.metric.lower()
    reading = total("profile_us" if profiled else "latency_us")
    return Case(measurement, (Launch(build, stack_of(measurement)),), reading)
