"""torch_neuronx.utils: what scripts ask about the chip."""

from __future__ import annotations

import os

from neuron_sim import _core
from neuron_sim.torch_backend.device_module import get_device_properties

__all__ = ["get_logical_neuron_cores", "get_platform_target", "is_sync_mode_enabled"]


def get_platform_target() -> str:
    """The chip's architecture, for example "trn2"."""
    return get_device_properties(0).architecture


def get_logical_neuron_cores() -> str:
    """How many physical cores a logical one has, as a text: NEURON_LOGICAL_NC_CONFIG, else the most
    that the chip has."""
    facts = _core.architecture_facts(_core.environment_architecture() or get_platform_target())
    cores = facts["limits.logical_cores"]["value"]
    return os.environ.get("NEURON_LOGICAL_NC_CONFIG") or str(int(cores))


def is_sync_mode_enabled() -> bool:
    """Whether NEURON_LAUNCH_BLOCKING makes launches synchronous."""
    return os.environ.get("NEURON_LAUNCH_BLOCKING") == "1"
