"""What both NKI languages share: tensors, index expressions, masks, traces, kernels."""

from . import overloads as _overloads  # noqa: F401 - attaches the operators of Tensor
from .dtypes import DType, dtype_of, promote
from .errors import Unroll
from .expression import Expression
from .mask import Mask, boxes
from .tensor import Storage, Tensor
from .trace import Trace, current, tracing

__all__ = [
    "DType",
    "Expression",
    "Mask",
    "Storage",
    "Tensor",
    "Trace",
    "Unroll",
    "boxes",
    "current",
    "dtype_of",
    "promote",
    "tracing",
]
