"""neuronxcc.nki.language: reductions along the last free dimensions, and functions built from them.

axis: an int or ints that name the last free dimensions. Results have the dtype of x unless `dtype`
is given, and at least two dimensions. `mask`: the part that takes part.
"""

from neuron_sim.neuronxcc.nki.keywords import refuse
from neuron_sim.nki.isa.operators import NAMES
from neuron_sim.nki.lowering import reductions as lowering
from neuron_sim.nki.tracing import current


def sum(x, axis, *, dtype=None, mask=None, keepdims=False, **kwargs):
    """The sum of the elements, in fp32."""
    if kwargs:
        refuse("sum", kwargs)
    return lowering.reduction("sum", "add", x, axis, dtype, mask, keepdims)


def max(x, axis, *, dtype=None, mask=None, keepdims=False, **kwargs):
    """The largest element; NaN when there is one."""
    if kwargs:
        refuse("max", kwargs)
    return lowering.reduction("max", "maximum", x, axis, dtype, mask, keepdims)


def min(x, axis, *, dtype=None, mask=None, keepdims=False, **kwargs):
    """The smallest element; NaN when there is one."""
    if kwargs:
        refuse("min", kwargs)
    return lowering.reduction("min", "minimum", x, axis, dtype, mask, keepdims)


def prod(x, axis, *, dtype=None, mask=None, keepdims=False, **kwargs):
    """The product of the elements, in fp32."""
    if kwargs:
        refuse("prod", kwargs)
    return lowering.reduction("prod", "multiply", x, axis, dtype, mask, keepdims)


def mean(x, axis, *, dtype=None, mask=None, keepdims=False, **kwargs):
    """The sum in fp32, divided by the number of elements that take part."""
    if kwargs:
        refuse("mean", kwargs)
    return lowering.mean(x, axis, dtype, mask, keepdims)


def var(x, axis, *, dtype=None, mask=None, **kwargs):
    """The mean squared distance from the mean."""
    if kwargs:
        refuse("var", kwargs)
    return lowering.variance(x, axis, dtype, mask)


def all(x, axis, *, dtype=bool, mask=None, **kwargs):
    """Whether no element is 0."""
    if kwargs:
        refuse("all", kwargs)
    return lowering.every(x, axis, None if dtype is bool else dtype, mask)


def softmax(x, axis, *, dtype=None, compute_dtype=None, mask=None, **kwargs):
    """exp(x - max) / sum. `compute_dtype`: of the result, as `dtype`; computed in fp32."""
    if kwargs:
        refuse("softmax", kwargs)
    current().allocation.check_implicit_tensors("softmax")
    return lowering.softmax(x, axis, dtype or compute_dtype, mask)


def rms_norm(x, w, axis, n, epsilon=1e-06, *, dtype=None, compute_dtype=None, mask=None, **kwargs):
    """x / sqrt(sum(x^2) / n + epsilon) * w. `compute_dtype`: of the result, as `dtype`."""
    if kwargs:
        refuse("rms_norm", kwargs)
    current().allocation.check_implicit_tensors("rms_norm")
    return lowering.rms_norm(x, w, axis, n, epsilon, dtype or compute_dtype, mask)


NAMES.update({sum: "add", max: "maximum", min: "minimum", prod: "multiply", all: "logical_and"})

__all__ = ["all", "max", "mean", "min", "prod", "rms_norm", "softmax", "sum", "var"]
