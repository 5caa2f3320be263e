"""neuronxcc.nki.language.constants: sizes of dtypes, for the host side of kernels."""

from neuron_sim.nki.tracing.dtypes import dtype_of


def sizeinbytes(dtype) -> int:
    """Bytes of an element of a dtype of either language or of NumPy."""
    return dtype_of(dtype).itemsize


__all__ = ["sizeinbytes"]
