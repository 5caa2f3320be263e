"""The module that vLLM's models take wrap_nki from: wrap_nki(kernel)[grid](**tensors)."""

from neuron_sim.nki.torch import nki_op, wrap_nki

__all__ = ["nki_op", "wrap_nki"]
