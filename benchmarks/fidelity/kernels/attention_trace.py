"""The attention kernels under the profiler: those of family attention, read as its total time."""

from __future__ import annotations

from neuron_sim.fidelity.kernels.attention import match

__all__ = ["match"]
