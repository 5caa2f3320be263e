"""Tiles and tensors of the new language's kernels."""

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl


def output(a, shape=None):
    """A tensor in HBM of the shape of `a`, or another."""
    return nl.ndarray(shape or a.shape, dtype=a.dtype, buffer=nl.shared_hbm)


def tile(*shape, dtype=nl.float32, buffer=nl.sbuf, **place):
    """A tile on chip."""
    return nl.ndarray(shape, dtype=dtype, buffer=buffer, **place)


def loaded(a):
    """A tile with the contents of `a`."""
    x = tile(*a.shape, dtype=a.dtype)
    nisa.dma_copy(dst=x, src=a)
    return x
