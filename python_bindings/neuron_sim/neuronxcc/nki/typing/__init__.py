"""neuronxcc.nki.typing: annotations of kernels."""

from neuron_sim.nki.typing.annotations import mutable, mutable_tensor, scalar, tensor

__all__ = ["mutable", "mutable_tensor", "scalar", "tensor"]
