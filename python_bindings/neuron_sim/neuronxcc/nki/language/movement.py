"""load, store and copy of the old language."""

from neuron_sim.nki.tracing import movement, operators
from neuron_sim.nki.tracing.dtypes import dtype_of


def load(src, *, mask=None, dtype=None, **_options):
    """A new SBUF tile with the elements of an HBM tensor."""
    return movement.load(src, mask, dtype)


def store(dst, value, *, mask=None, **_options):
    """Elements of a tile, or a number, to an HBM tensor."""
    movement.store(dst, value, mask)


def copy(src, *, mask=None, dtype=None, **_options):
    """A new SBUF tile with the elements of a tile."""
    return operators.copy(src, None if dtype is None else dtype_of(dtype), mask)
