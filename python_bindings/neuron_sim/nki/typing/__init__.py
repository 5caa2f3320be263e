"""nki.typing: annotations of kernels."""

from .annotations import mutable, mutable_tensor, scalar, tensor

__all__ = ["mutable", "mutable_tensor", "scalar", "tensor"]
