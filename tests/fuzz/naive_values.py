"""The arithmetic of the engines in NumPy, as the documentation states it: fp32, one rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from listing import DTYPES, is_integer

# Sums are exact in any order when the terms are multiples of 2**-8 and add up to less than this.
_GRID = 256.0
_EXACT_SUM = 2.0**16


class OrderError(Exception):
    """The value depends on the order of additions, which this interpreter does not know."""


def to_floats(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32)


def to_integers(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int64)


def from_floats(values: np.ndarray, dtype: str) -> np.ndarray:
    """fp32 values rounded once: to nearest even; integers saturate, NaN becomes 0."""
    if not is_integer(dtype):
        return values.astype(DTYPES[dtype])
    limits = np.iinfo(DTYPES[dtype])
    rounded = np.rint(values.astype(np.float64))
    rounded = np.where(np.isnan(rounded), 0.0, np.clip(rounded, limits.min, limits.max))
    return rounded.astype(np.int64).astype(DTYPES[dtype])


def from_integers(values: np.ndarray, dtype: str) -> np.ndarray:
    """Integers modulo 2 to the number of bits."""
    return values.astype(DTYPES[dtype])


def _shift(left: bool) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def shifted(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        word, amount = a & 0xFFFFFFFF, np.clip(b, 0, 31)
        result = (word << amount) & 0xFFFFFFFF if left else word >> amount
        return np.where((b < 0) | (b > 31), 0, result)

    return shifted


def _larger(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(a), a, np.where(a > b, a, b))


def _smaller(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(a), a, np.where(a < b, a, b))


COMPARISONS: dict[str, Callable] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "logical_and": lambda a, b: (a != 0) & (b != 0),
    "logical_or": lambda a, b: (a != 0) | (b != 0),
    "logical_xor": lambda a, b: (a != 0) ^ (b != 0),
}
ARITHMETIC: dict[str, Callable] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "maximum": _larger,
    "minimum": _smaller,
    "abs_max": lambda a, b: _larger(abs(a), abs(b)),
    "abs_min": lambda a, b: _smaller(abs(a), abs(b)),
}
BITWISE: dict[str, Callable] = {
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "left_shift": _shift(True),
    "right_shift": _shift(False),
}
UNARY: dict[str, Callable] = {
    "abs": lambda a, b: abs(a),
    "square": lambda a, b: a * a,
    "relu": lambda a, b: np.where(a > 0, a, np.where(a != a, a, 0)),
    "logical_not": lambda a, b: a == 0,
}
BINARY = {**COMPARISONS, **ARITHMETIC}


_OPERATORS = {**BINARY, **BITWISE, **UNARY}


def operate(op: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a op b, of fp32 or of int64; of a alone for unary operators."""
    return np.asarray(_OPERATORS[op](a, b)).astype(a.dtype)


def exact_sum(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The fp32 sum, which must not depend on the order (OrderError)."""
    wide = values.astype(np.float64)
    finite = np.where(np.isfinite(wide), wide, 0.0)
    on_grid = np.all(np.floor(finite * _GRID) == finite * _GRID)
    if not on_grid or np.any(np.abs(finite).sum(axes) >= _EXACT_SUM):
        raise OrderError
    return wide.sum(axes).astype(np.float32)


def exact_product(stationary: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """stationary.T @ moving in fp32, which must not depend on the order (OrderError)."""
    a, b = stationary.astype(np.float64), moving.astype(np.float64)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise OrderError
    grid = np.sqrt(_GRID)
    if any(np.any(np.floor(x * grid) != x * grid) for x in (a, b)):
        raise OrderError
    bound = np.abs(a).max() * np.abs(b).max() * len(a)
    if bound >= _EXACT_SUM and np.any(np.abs(a).T @ np.abs(b) >= _EXACT_SUM):
        raise OrderError
    return (a.T @ b).astype(np.float32)
