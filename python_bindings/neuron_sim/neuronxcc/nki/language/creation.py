"""Creation of tensors in the old language."""

import numpy as np

from neuron_sim.neuronxcc.nki.keywords import refuse
from neuron_sim.nki.lowering.filling import filled
from neuron_sim.nki.tracing import creation
from neuron_sim.nki.tracing.dtypes import dtype_of, uint8


def ndarray(shape, dtype, *, buffer=None, name="", **kwargs):
    """A new uninitialised tensor; buffer None is SBUF, where dimension 0, or nl.par_dim, counts
    partitions."""
    if kwargs:
        refuse("ndarray", kwargs)
    return creation.ndarray(shape, dtype, buffer, name)


def zeros(shape, dtype, *, buffer=None, name="", **kwargs):
    """A tile of zeros."""
    refuse("zeros", kwargs)
    return filled(shape, 0, dtype, buffer, name)


def ones(shape, dtype, *, buffer=None, name="", **kwargs):
    """A tile of ones."""
    refuse("ones", kwargs)
    return filled(shape, 1, dtype, buffer, name)


def full(shape, fill_value, dtype, *, buffer=None, name="", **kwargs):
    """A tile of one value."""
    refuse("full", kwargs)
    return filled(shape, fill_value, dtype, buffer, name)


def zeros_like(a, dtype=None, *, buffer=None, name="", **kwargs):
    """A tile of zeros with the shape and, unless given, dtype and buffer of `a`."""
    refuse("zeros_like", kwargs)
    return filled(a.shape, 0, dtype or a.dtype, buffer or a.buffer, name)


def ones_like(a, dtype=None, *, buffer=None, name="", **kwargs):
    """A tile of ones with the shape and, unless given, dtype and buffer of `a`."""
    refuse("ones_like", kwargs)
    return filled(a.shape, 1, dtype or a.dtype, buffer or a.buffer, name)


def full_like(a, fill_value, dtype=None, *, buffer=None, name="", **kwargs):
    """A tile of one value with the shape and, unless given, dtype and buffer of `a`."""
    refuse("full_like", kwargs)
    return filled(a.shape, fill_value, dtype or a.dtype, buffer or a.buffer, name)


def empty_like(a, dtype=None, *, buffer=None, name="", **kwargs):
    """An uninitialised tensor with the shape and, unless given, dtype and buffer of `a`."""
    refuse("empty_like", kwargs)
    return creation.ndarray(a.shape, dtype or a.dtype, buffer or a.buffer, name)


def shared_constant(constant, dtype=None, **kwargs):
    """An HBM tensor with the contents of a NumPy array."""
    refuse("shared_constant", kwargs)
    return creation.constant(constant, dtype)


def shared_identity_matrix(n, dtype=uint8, **kwargs):
    """An HBM tensor [n, n] with ones on its diagonal."""
    refuse("shared_identity_matrix", kwargs)
    return creation.constant(np.identity(n), dtype_of(dtype))
