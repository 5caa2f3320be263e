"""neuronxcc.nki.language: values printed by a kernel."""

from neuron_sim.neuronxcc.nki.isa.results import refuse
from neuron_sim.nki.launch import printing


def device_print(prefix, x, *, mask=None, **kwargs):
    """Prints `prefix` and the value of a tile, in program order, once the kernel has run."""
    if kwargs:
        refuse("device_print", kwargs)
    printing.device_print(prefix, x, mask)
