"""nki.typing: annotations of kernels."""

from neuron_sim.neuronxcc.nki.typing import mutable, mutable_tensor, scalar, tensor

__all__ = ["mutable", "mutable_tensor", "scalar", "tensor"]
