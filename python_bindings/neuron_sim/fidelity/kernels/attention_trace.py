"""The attention kernels under the profiler: family attention, read as the profiler's total time."""

from __future__ import annotations

from neuron_sim.fidelity.kernels.attention import match

__all__ = ["match"]
