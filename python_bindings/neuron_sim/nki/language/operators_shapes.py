"""nki.language: matrix products, transposes, broadcasts, selections and gathers."""

from ..isa.matrix import nc_matmul
from ..lowering import elementwise as lowering
from ..lowering import shapes
from ..tracing import current
from ..tracing.dtypes import float32


def matmul(x, y, transpose_x=False):
    """x @ y, or x.T @ y with transpose_x: a PSUM tile of fp32.

    x: SBUF, up to [128, 128]; y: SBUF, up to [128, 512]. Without transpose_x the Tensor engine
    transposes x first.
    """
    if not transpose_x:
        x = lowering.copy(shapes.transposed(x, "matmul"), x.dtype).settle()
    result = current().tile((x.size // x.shape[0], *y.shape[1:]), float32, "psum")
    nc_matmul(result, x, y, accumulate=False)
    return result


def outer_product(x, y, dtype=None):
    """x[m] * y[n] of a row [1, M] or a column [M, 1], and a row [1, N]: a tile [M, N]."""
    return shapes.outer_product(x, y, dtype)


def transpose(x, dtype=None):
    """x.T of a 2-D tile up to [128, 128], in PSUM unless a cast is wanted."""
    return shapes.transpose(x, dtype, memory="psum")


def broadcast_to(x, shape, dtype=None):
    """x with dimensions of size 1 repeated; free dimensions move no element."""
    return shapes.broadcast_to(x, shape, dtype)


def expand_dims(x, axis):
    """A view with dimensions of size 1 at `axis`, after the partition dimension."""
    return shapes.expand_dims(x, axis)


def where(condition, x, y, dtype=None):
    """x where condition is not 0, else y."""
    return shapes.where(condition, x, y, dtype)


def dropout(x, rate, dtype=None):
    """x with elements set to 0 with probability `rate`, a number or a tile [P, 1]; not rescaled."""
    return shapes.dropout(x, rate, dtype)


def gather_flattened(data, indices, axis=0, dtype=None):
    """[p, i...] = flat(data[p])[indices[p, i...]]. ValueError for an axis other than 0."""
    if axis != 0:
        raise ValueError(f"axis of 'gather_flattened' is {axis}; only 0 is supported.")
    return shapes.gather_flattened(data, indices, dtype)


def is_sbuf(buffer):
    """Whether a buffer, or a tensor's, is SBUF."""
    return buffer.memory == "sbuf"


def is_psum(buffer):
    """Whether a buffer, or a tensor's, is PSUM."""
    return buffer.memory == "psum"


def is_hbm(buffer):
    """Whether a buffer, or a tensor's, is HBM, shared or private."""
    return buffer.memory == "hbm"


def is_on_chip(buffer):
    """Whether a buffer, or a tensor's, is SBUF or PSUM."""
    return buffer.memory != "hbm"


__all__ = [
    "broadcast_to",
    "dropout",
    "expand_dims",
    "gather_flattened",
    "is_hbm",
    "is_on_chip",
    "is_psum",
    "is_sbuf",
    "matmul",
    "outer_product",
    "transpose",
    "where",
]
