"""torch_neuronx.streams is the module of torch.neuron's streams: importing this gives it."""

import sys

from neuron_sim.torch_backend import streams

sys.modules[__name__] = streams
