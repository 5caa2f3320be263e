"""Single functions of both NKI languages against NumPy, on slices of random tiles."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from findings import FoundError

BINARY: dict[str, Callable] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "greater": np.greater, "greater_equal": np.greater_equal, "less_equal": np.less_equal,
}  # fmt: skip
UNARY: dict[str, Callable] = {
    "negative": np.negative, "abs": np.abs, "square": np.square, "exp": np.exp, "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt": lambda x: np.sqrt(x), "sign": np.sign, "floor": np.floor, "reciprocal": lambda x: 1 / x,
}  # fmt: skip
REDUCTIONS: dict[str, Callable] = {"sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean}
_DTYPES = (np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16))
_TOLERANCE = {4: (2e-5, 2e-5), 2: (2e-2, 2e-2)}


def _window(source: random.Random, shape: tuple[int, ...]) -> tuple[slice, ...]:
    items = []
    for size in shape:
        low = source.randint(0, size - 1)
        items.append(slice(low, source.randint(low + 1, size)))
    return tuple(items)


def check_value(source: random.Random, jit: Any, nl: Any, old: bool) -> str:
    """One function on one window; FoundError when its value is not NumPy's."""
    dtype = source.choice(_DTYPES)
    shape = (source.choice([1, 2, 3, 31, 32, 33, 127, 128]), source.choice([1, 2, 5, 17, 40]))
    numbers = np.random.default_rng(source.getrandbits(63))
    x, y = (numbers.uniform(-4, 4, shape).astype(dtype) for _ in range(2))
    window = _window(source, shape)
    kind = source.choice(["binary", "binary", "unary", "reduction"])
    name = source.choice(list({"binary": BINARY, "unary": UNARY, "reduction": REDUCTIONS}[kind]))
    if name in ("sqrt", "reciprocal"):
        x = (np.abs(x) + 1).astype(dtype)
    limit = source.randint(1, shape[1]) if old and source.random() < 0.4 else None

    def kernel(a, b):
        if limit is None:
            tiles = [nl.load(a[window]), nl.load(b[window])]
        else:
            rows, columns = nl.arange(shape[0])[:, None], nl.arange(shape[1])[None, :]
            tiles = [nl.load(each[rows, columns], mask=columns < limit) for each in (a, b)]
            tiles = [tile[:, 0:limit] for tile in tiles]
        if kind == "binary":
            result = getattr(nl, name)(tiles[0], tiles[1], dtype=nl.float32)
        elif kind == "unary":
            result = getattr(nl, name)(tiles[0], dtype=nl.float32)
        else:
            result = getattr(nl, name)(tiles[0], axis=1, keepdims=True, dtype=nl.float32)
        out = nl.ndarray(result.shape, nl.float32, buffer=nl.shared_hbm)
        nl.store(out, result)
        return out

    part = window if limit is None else (slice(None), slice(0, limit))
    a, b = (each[part].astype(np.float64) for each in (x, y))
    if kind == "binary":
        expected = BINARY[name](a, b)
    elif kind == "unary":
        expected = UNARY[name](a)
    else:
        expected = REDUCTIONS[name](a, axis=1, keepdims=True)
    found = np.asarray(jit(kernel)(x, y))
    relative, absolute = _TOLERANCE[dtype.itemsize]
    if found.shape != expected.shape or not np.allclose(found, expected, relative, absolute):
        raise FoundError(
            f"nl.{name} of {dtype} is not NumPy's",
            f"{'old' if old else 'new'} language, shape {shape}, window {part}: "
            f"{found.reshape(-1)[:4]} instead of {expected.reshape(-1)[:4]}",
        )
    return "values compared"
