"""Operator arguments of instructions: which builder name each callable stands for.

Kernels name operators by functions (`op=nl.add`, `op=np.exp`), never by strings. One table serves
both languages; the operators of each add their own functions when they are imported.
"""

import numpy as np

from neuron_sim import _core

from ..tracing import Tensor
from ..tracing.dtypes import bool_, uint8

_NUMPY = {
    "add": ("add", "sum"),
    "subtract": ("subtract",),
    "multiply": ("multiply", "prod"),
    "divide": ("divide", "true_divide"),
    "maximum": ("maximum", "max", "amax"),
    "minimum": ("minimum", "min", "amin"),
    "power": ("power", "float_power"),
    "equal": ("equal",),
    "not_equal": ("not_equal",),
    "greater": ("greater",),
    "greater_equal": ("greater_equal",),
    "less": ("less",),
    "less_equal": ("less_equal",),
    "logical_and": ("logical_and", "all"),
    "logical_or": ("logical_or", "any"),
    "logical_xor": ("logical_xor",),
    "logical_not": ("logical_not",),
    "bitwise_and": ("bitwise_and",),
    "bitwise_or": ("bitwise_or",),
    "bitwise_xor": ("bitwise_xor",),
    "left_shift": ("left_shift",),
    "right_shift": ("right_shift",),
    "invert": ("invert", "bitwise_not"),
    "abs": ("abs", "absolute", "fabs"),
    "square": ("square",),
    "sqrt": ("sqrt",),
    "exp": ("exp",),
    "log": ("log",),
    "sin": ("sin",),
    "tanh": ("tanh",),
    "arctan": ("arctan",),
    "sign": ("sign",),
    "reciprocal": ("reciprocal",),
    "copy": ("copy",),
    "average": ("average", "mean"),
}

#: Callable -> name in `_core.Builder`.
NAMES: dict = _core.operator_names
NAMES.update(
    (getattr(np, spelling), name)
    for name, spellings in _NUMPY.items()
    for spelling in spellings
    if hasattr(np, spelling)
)
NAMES[abs] = "abs"


def operator_name(op, parameter="op"):
    """The builder's name for an operator argument; "" for None (no operator).

    TypeError when `op` is not a function of nki.language or of NumPy that an engine has.
    """
    if op is None:
        return ""
    try:
        return NAMES[op]
    except (KeyError, TypeError):
        name = getattr(op, "__name__", None)
        written = repr(op) if name is None else f"{getattr(op, '__module__', '')}.{name}"
        raise TypeError(
            f"{parameter} is {written}, which no engine has as an operator; use a function of "
            "nki.language or its NumPy spelling, such as nl.add, nl.maximum, nl.exp or np.add."
        ) from None


def operand(value):
    """The builder's argument for a tile or a number: a View, or a float."""
    if type(value) is float:
        return value
    if isinstance(value, Tensor):
        return value.access
    return float(value)


def tile_or_number(value):
    """A tile or a number as an Instruction takes it: a Tensor unchanged, or a float."""
    kind = type(value)
    return value if kind is float or kind is Tensor or isinstance(value, Tensor) else float(value)


def predicate_view(tensor):
    """The View of a predicate: bools are uint8 to the engines."""
    return (tensor.reinterpreted(uint8) if tensor.dtype is bool_ else tensor).access
