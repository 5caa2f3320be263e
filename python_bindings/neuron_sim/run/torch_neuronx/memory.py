"""torch_neuronx.memory is torch.neuron.memory: importing this gives that module."""

import sys

from neuron_sim.torch_backend import memory

sys.modules[__name__] = memory
