"""Whether what a kernel returns is what its reference returns."""

from collections.abc import Sequence
from typing import Any

import numpy as np

TOLERANCES = {1: 0.13, 2: 0.02, 4: 1e-3}
"""By bytes of an element of a floating dtype, relative to the element and to the root mean square
of all: a few roundings of its shortest format, and for fp32 the chip's approximations
(`VA-EXP` of nki/legality/rules.toml). Integers must be equal."""


def as_list(result: Any) -> list[np.ndarray]:
    """The tensors that a kernel or a reference returns, in order."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, list | tuple):
        return [tensor for member in result for tensor in as_list(member)]
    return [] if result is None else [np.asarray(result)]


def widened(value: Any) -> Any:
    """An argument for a reference: floats that NumPy itself lacks as fp32."""
    is_foreign = isinstance(value, np.ndarray) and value.dtype.type.__module__ == "ml_dtypes"
    return value.astype(np.float32) if is_foreign else value


def difference(
    got: Sequence[np.ndarray], expected: Sequence[np.ndarray], tolerance: float | None
) -> dict[str, Any] | None:
    """What is wrong first, None when all is right: output, index, got, expected, how many."""
    if len(got) != len(expected):
        return {"output": None, "sentence": f"{len(got)} outputs, not {len(expected)}"}
    for number, (mine, theirs) in enumerate(zip(got, expected, strict=True)):
        if mine.shape != theirs.shape:
            shapes = f"shape {list(mine.shape)}, not {list(theirs.shape)}"
            return {"output": number, "sentence": shapes}
        wrong = _wrong(mine, theirs, tolerance)
        if wrong.any():
            index = tuple(int(axis) for axis in np.argwhere(wrong)[0])
            return {
                "output": number,
                "index": list(index),
                "got": _number(mine[index]),
                "expected": _number(theirs[index]),
                "wrong_elements": int(wrong.sum()),
                "elements": int(wrong.size),
            }
    return None


def _number(value: Any) -> float | str:
    """As JSON has it, which lacks infinities and NaN."""
    number = float(value)
    return number if np.isfinite(number) else str(number)


def _wrong(mine: np.ndarray, theirs: np.ndarray, tolerance: float | None) -> np.ndarray:
    if mine.dtype.kind in "iub":
        return mine != theirs
    relative = TOLERANCES[min(mine.dtype.itemsize, 4)] if tolerance is None else tolerance
    with np.errstate(over="ignore"):  # the output's dtype may have no such number
        held = theirs.astype(mine.dtype).astype(np.float64)
    got = mine.astype(np.float64)
    wanted = np.where(np.isinf(held), held, theirs.astype(np.float64))
    finite = np.isfinite(wanted)
    scale = np.sqrt(np.mean(wanted[finite] ** 2)) if finite.any() else 0.0
    with np.errstate(invalid="ignore"):
        is_near = np.abs(got - wanted) <= relative * (np.abs(wanted) + scale)
    is_same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    return ~np.where(finite, is_near, is_same)
