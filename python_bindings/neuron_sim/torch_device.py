"""Importing this module registers the `neuron_sim` device with PyTorch.

It offers the same names as `torch.neuron_sim`. Needed only when PyTorch's autoload is off.
"""

from neuron_sim.terminal.extras import explained as _explained
from neuron_sim.torch_backend.registration import register as _register

with _explained():
    _register()

from neuron_sim.torch_backend import device_module
from neuron_sim.torch_backend.device_module import *  # noqa: F403

__all__ = device_module.__all__
