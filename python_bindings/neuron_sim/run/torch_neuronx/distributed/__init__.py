"""torch_neuronx.distributed: importing it registers the process group backend `neuron`, which is
there as soon as the device is."""

import neuron_sim.torch_device  # noqa: F401 - registers
