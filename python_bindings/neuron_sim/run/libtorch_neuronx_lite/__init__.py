"""Stands in for libtorch_neuronx_lite, vLLM's build of torch_neuronx, where it is missing.

Importing it registers the device, as the vendor's does; `nki.nki_hop` has wrap_nki.
"""

import neuron_sim.torch_device  # noqa: F401 - registers
