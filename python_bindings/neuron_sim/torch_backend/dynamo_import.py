"""Registers the device with TorchDynamo when TorchDynamo is imported, which takes seconds and which
most programs never do."""

from __future__ import annotations

from types import ModuleType

from neuron_sim.after_import import after_import


def install() -> None:
    """Registers the device now if TorchDynamo has been imported, else as soon as it is."""
    after_import("torch._dynamo.device_interface", _register)


def _register(_module: ModuleType) -> None:
    from neuron_sim.torch_backend import dynamo  # needs torch._dynamo

    dynamo.register()
