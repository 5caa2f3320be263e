"""The module of torch_neuronx that scripts take wrap_nki from."""

from neuron_sim.nki.torch import nki_op, wrap_nki

__all__ = ["nki_op", "wrap_nki"]
