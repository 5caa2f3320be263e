"""neuronxcc.nki.language: random numbers, and additions to memory."""

import numpy as np

from neuron_sim.neuronxcc.nki.isa.results import in_place
from neuron_sim.neuronxcc.nki.keywords import refuse
from neuron_sim.nki.isa.dma import dma_copy_add
from neuron_sim.nki.isa.operators import operator_name
from neuron_sim.nki.lowering import random as lowering_random
from neuron_sim.nki.tracing import Tensor


def rand(shape, dtype=np.float32, **kwargs):
    """A tile of random numbers in [0, 1)."""
    if kwargs:
        refuse("rand", kwargs)
    return lowering_random.rand(shape, dtype)


def random_seed(seed, *, mask=None, **kwargs):
    """Seeds the generator of the Vector engine with an int, or with a tile [1, 1] of 32 bits."""
    if kwargs:
        refuse("random_seed", kwargs)
    lowering_random.random_seed(seed)


def atomic_rmw(dst, value, op, *, mask=None, **kwargs):
    """dst = dst + value in HBM, row by row of an index tile.

    dst: an HBM tensor with a tile of indices, each row once; value: a tile or a number; op: np.add.
    ValueError for another operator, and for a dst without indices.
    """
    if kwargs:
        refuse("atomic_rmw", kwargs)
    if operator_name(op) != "add":
        raise ValueError("op of 'atomic_rmw' must be np.add.")
    if dst.index is None:
        raise ValueError("dst of 'atomic_rmw' must be indexed with a tile of indices.")
    if not isinstance(value, Tensor):
        value = lowering_random.filled(dst.shape, dst.dtype, value)
    in_place(dst.shape, mask, dma_copy_add, dst, value)


__all__ = ["atomic_rmw", "rand", "random_seed"]
