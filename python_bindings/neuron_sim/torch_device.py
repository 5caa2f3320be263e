"""Importing this module registers the `neuron_sim` device with PyTorch.

It offers the same names as `torch.neuron_sim`. Needed only when PyTorch's autoload is off.
"""

from neuron_sim._registration import register as _register

_register()

from neuron_sim import _device_module  # noqa: E402
from neuron_sim._device_module import *  # noqa: E402, F403

__all__ = _device_module.__all__
