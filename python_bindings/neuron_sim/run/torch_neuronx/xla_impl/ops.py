"""torch_neuronx.xla_impl.ops: the decorator of kernels for torch tensors."""

from neuron_sim.neuronxcc.nki import jit as nki_jit

__all__ = ["nki_jit"]
