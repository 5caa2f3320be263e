"""torch_neuronx.neuron is torch.neuron: importing this gives that module."""

import sys

from neuron_sim.torch_backend import device_module

sys.modules[__name__] = device_module
