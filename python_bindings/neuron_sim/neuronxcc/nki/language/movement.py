"""load, load_transpose2d, store and copy of the old language."""

from neuron_sim import _core
from neuron_sim.neuronxcc.nki.keywords import refuse
from neuron_sim.nki.isa.instruction import DMA_COPY, TENSOR_COPY
from neuron_sim.nki.isa.operators import NAMES
from neuron_sim.nki.lowering import movement, tiles
from neuron_sim.nki.tracing.dtypes import dtype_of

plain_result, plain_store = _core.plain_result, _core.plain_store


def load(src, *, mask=None, dtype=None, **kwargs):
    """A new SBUF tile with the elements of an HBM tensor."""
    if kwargs:
        refuse("load", kwargs)
    if dtype is None:
        return plain_result(DMA_COPY, "hm", movement.load, src, mask)
    return movement.load(src, mask, dtype)


def store(dst, value, *, mask=None, **kwargs):
    """Elements of a tile, or a number, to an HBM tensor."""
    if kwargs:
        refuse("store", kwargs)
    plain_store(DMA_COPY, dst, value, mask, movement.store)


def load_transpose2d(src, *, mask=None, dtype=None, **kwargs):
    """A new SBUF tile [columns, rows] of an HBM tensor [rows, columns]."""
    refuse("load_transpose2d", kwargs)
    return movement.load_transpose2d(src, mask, dtype)


def copy(src, *, mask=None, dtype=None, **kwargs):
    """A new SBUF tile with the elements of a tile."""
    if kwargs:
        refuse("copy", kwargs)
    if mask is None and dtype is None:
        return plain_result(TENSOR_COPY, "x", tiles.copy, src)
    return tiles.copy(src, None if dtype is None else dtype_of(dtype), mask)


NAMES[copy] = "copy"
