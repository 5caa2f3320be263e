"""Shared by both NKI languages: tensors, index expressions, masks, traces."""

from .active import current, tracing
from .dtypes import DType, dtype_of, promote
from .errors import Unroll
from .expression import Expression
from .mask import Mask, boxes
from .tensor import Storage, Tensor
from .trace import Trace

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
