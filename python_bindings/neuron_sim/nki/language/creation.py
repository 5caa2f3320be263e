"""Creation of tensors in the new language."""

import os

import numpy as np

from ..lowering.filling import filled
from ..lowering.movement import dma
from ..tracing import creation
from ..tracing.buffers import sbuf
from ..tracing.dtypes import dtype_of, uint8
from ..tracing.methods import writable


def _memory(buffer):
    if isinstance(buffer, str):
        raise TypeError(f"buffer '{buffer}' is a string; use nl.{buffer}.")
    return buffer


def ndarray(shape, dtype, buffer=sbuf, name="", address=None):
    """A new uninitialised tensor. address: (first partition, byte in the partitions), on chip."""
    return creation.ndarray(shape, dtype, _memory(buffer), name, address)


def zeros(shape, dtype, buffer=sbuf, name=""):
    """A tile of zeros."""
    return filled(shape, 0, dtype, _memory(buffer), name)


def ones(shape, dtype, buffer=sbuf, name=""):
    """A tile of ones."""
    return filled(shape, 1, dtype, _memory(buffer), name)


def full(shape, fill_value, dtype, buffer=sbuf, name=""):
    """A tile of one value."""
    return filled(shape, fill_value, dtype, _memory(buffer), name)


def zeros_like(x, dtype=None, buffer=None, name=""):
    """A tile of zeros with the shape and, unless given, dtype and buffer of `x`."""
    return filled(x.shape, 0, dtype or x.dtype, _memory(buffer or x.buffer), name)


def ones_like(x, dtype=None, buffer=None, name=""):
    """A tile of ones with the shape and, unless given, dtype and buffer of `x`."""
    return filled(x.shape, 1, dtype or x.dtype, _memory(buffer or x.buffer), name)


def full_like(x, fill_value, dtype=None, buffer=None, name=""):
    """A tile of one value with the shape and, unless given, dtype and buffer of `x`."""
    return filled(x.shape, fill_value, dtype or x.dtype, _memory(buffer or x.buffer), name)


def empty_like(x, dtype=None, buffer=None, name=""):
    """An uninitialised tensor with the shape and, unless given, dtype and buffer of `x`."""
    return creation.ndarray(x.shape, dtype or x.dtype, _memory(buffer or x.buffer), name)


def shared_constant(constant, dtype=None, name=""):
    """An HBM tensor with the contents of a NumPy array, or of the file `constant` (.npy)."""
    if isinstance(constant, (str, os.PathLike)):
        constant = _loaded(constant)
    return creation.constant(constant, dtype, name)


def _loaded(path):
    """The array of a .npy file; ValueError for any other file."""
    try:
        array = np.load(path)
    except (OSError, EOFError, ValueError) as error:
        raise ValueError(
            f"shared_constant: file '{os.fspath(path)}' cannot be read as an array (.npy): {error}."
        ) from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"shared_constant: file '{os.fspath(path)}' holds several arrays.")
    return array


def shared_identity_matrix(n, dtype=uint8, dst=None, name=""):
    """An SBUF tile [n, n] with ones on its diagonal, or `dst`, which is written."""
    dtype = dtype_of(dtype) if dst is None else dst.dtype
    constant = creation.constant(np.identity(n), dtype, f"{name or 'identity'}_constant")
    tile = creation.ndarray((n, n), dtype, sbuf, name) if dst is None else dst
    writable(tile)
    dma(tile, constant)
    return tile
