"""Uninitialised tiles of both languages: their contents matter neither to checks nor to times."""

import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.language as nl
from isa_harness import uniform


def tile(*shape, dtype=nl.float32, psum=False):
    """A tile on chip."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.psum if psum else nl.sbuf)


def wide(n, dtype=nl.float32, psum=False):
    """[128, n]."""
    return tile(128, n, dtype=dtype, psum=psum)


def half(n, psum=False):
    """[128, n] of bf16."""
    return wide(n, nl.bfloat16, psum)


def column(dtype=nl.float32):
    """[128, 1]."""
    return tile(128, 1, dtype=dtype)


def hbm(*shape, dtype=nl.float32, shared=False):
    """A tensor in HBM."""
    return nl.ndarray(shape, dtype, buffer=nl.shared_hbm if shared else nl.hbm)


def old_wide(n, dtype=old_nl.float32, buffer=old_nl.sbuf):
    """[128, n] of the older language."""
    return old_nl.ndarray((128, n), dtype=dtype, buffer=buffer)


def old_half(n):
    """[128, n] of bf16 of the older language."""
    return old_wide(n, old_nl.bfloat16)


def hundreds(*shape):
    """Random numbers in [0, 100), as most examples of the vendor have."""
    return uniform(*shape, low=0, high=100)
