"""load, store, copy and device_print of the new language: wrappers without masks."""

from ..isa.operators import NAMES
from ..launch import printing
from ..lowering import movement, tiles
from ..tracing.dtypes import dtype_of


def load(src, dtype=None):
    """A new SBUF tile with the elements of an HBM tensor."""
    return movement.load(src, None, dtype)


def store(dst, value):
    """Elements of a tile, or a number, to an HBM tensor."""
    movement.store(dst, value)


def load_transpose2d(src, dtype=None):
    """A new SBUF tile [columns, rows] of an HBM tensor [rows, columns]."""
    return movement.load_transpose2d(src, None, dtype)


def copy(x, dtype=None):
    """A new SBUF tile with the elements of a tile."""
    return tiles.copy(x, None if dtype is None else dtype_of(dtype))


NAMES[copy] = "copy"


def device_print(print_prefix, tensor):
    """Prints the prefix and the values that a tensor has at this point, once the kernel has run."""
    printing.device_print(print_prefix, tensor)
