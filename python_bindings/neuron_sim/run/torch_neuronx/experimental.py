"""torch_neuronx.experimental: which NeuronCores run a traced module (page "NeuronCore Placement
APIs")."""

from __future__ import annotations

import torch

from neuron_sim import _C
from neuron_sim.run.torch_neuronx.xla_impl.traced_models import loaded

__all__ = ["set_multicore", "set_neuron_cores"]


def set_neuron_cores(trace: torch.jit.ScriptModule, start_nc: int = -1, nc_count: int = -1) -> None:
    """Makes `nc_count` cores from `start_nc` on run it, one call after the other.

    -1 for `start_nc` keeps the first of its present cores, -1 for `nc_count` is one core.
    ValueError for a core that is not there.
    """
    model = loaded(trace.model)
    start = model.cores[0] if start_nc == -1 else start_nc
    if nc_count == 0 or nc_count < -1:
        raise ValueError(f"nc_count is {nc_count}, not a number of NeuronCores or -1")
    model.place(range(start, start + max(1, nc_count)))


def set_multicore(trace: torch.jit.ScriptModule) -> None:
    """Makes all cores of the process run it, one call after the other."""
    loaded(trace.model).place(range(_C.device_count()))
