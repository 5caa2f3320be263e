"""nki.language: reductions along the last free dimensions, and functions built from them.

axis: an int or ints that name the last free dimensions. Results are new SBUF tiles of the dtype of
x unless `dtype` is given, of at least two dimensions.
"""

from ..isa.operators import NAMES
from ..lowering import reductions as lowering


def sum(x, axis, dtype=None, keepdims=False):
    """The sum of the elements, in fp32."""
    return lowering.reduction("sum", "add", x, axis, dtype, None, keepdims)


def max(x, axis, dtype=None, keepdims=False):
    """The largest element; NaN when there is one."""
    return lowering.reduction("max", "maximum", x, axis, dtype, None, keepdims)


def min(x, axis, dtype=None, keepdims=False):
    """The smallest element; NaN when there is one."""
    return lowering.reduction("min", "minimum", x, axis, dtype, None, keepdims)


def prod(x, axis, dtype=None, keepdims=False):
    """The product of the elements, in fp32."""
    return lowering.reduction("prod", "multiply", x, axis, dtype, None, keepdims)


def mean(x, axis, dtype=None, keepdims=False):
    """The sum in fp32, divided by the number of elements."""
    return lowering.mean(x, axis, dtype, None, keepdims)


def var(x, axis, dtype=None, keepdims=False):
    """The mean squared distance from the mean. The reduced axes stay, as in the vendor's."""
    return lowering.variance(x, axis, dtype, None, True)


def all(x, axis, dtype=None):
    """1 where no element is 0, in the dtype of x."""
    return lowering.every(x, axis, x.dtype if dtype is None else dtype)


def softmax(x, axis=-1, dtype=None):
    """exp(x - max) / sum."""
    return lowering.softmax(x, axis, dtype)


def rms_norm(x, w, axis, n, epsilon=1e-06, dtype=None, compute_dtype=None):
    """x / sqrt(sum(x^2) / n + epsilon) * w; computed in fp32 whatever `compute_dtype`."""
    return lowering.rms_norm(x, w, axis, n, epsilon, dtype)


NAMES.update({sum: "add", max: "maximum", min: "minimum", prod: "multiply", all: "logical_and"})

__all__ = ["all", "max", "mean", "min", "prod", "rms_norm", "softmax", "sum", "var"]
