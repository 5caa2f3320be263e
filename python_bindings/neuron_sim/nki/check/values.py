"""Inputs of a check: random ones, and ones that shortcuts do not survive."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..launch.arrays import is_declared
from ..tracing.dtypes import DType, dtype_of

KINDS = ("random", "wide", "equal", "zero")
"""Normal values; magnitudes of six decades with both signs; one value everywhere; zeros. What is
summed, masked or transposed wrongly may look right with the last two, so they come last."""

_LARGEST_INTEGER = 100  # sums of a thousand products of these are exact in fp32


def input_sets(
    inputs: Mapping[str, Any], seeds: Sequence[int]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, arguments) of each run: every seed with random values, the first with the others.
    Declared arrays get values; arrays and all else are passed as they are."""
    for kind in KINDS:
        for seed in seeds if kind == "random" else seeds[:1]:
            source = np.random.default_rng(seed)
            yield (
                f"{kind} {seed}",
                {
                    name: _array(value.shape, dtype_of(value.dtype), kind, source)
                    if is_declared(value)
                    else value
                    for name, value in inputs.items()
                },
            )


def _array(shape: tuple, dtype: DType, kind: str, source: np.random.Generator) -> np.ndarray:
    sizes = tuple(int(size) for size in shape)
    if not (dtype.is_float or dtype.is_integer):  # packed, of several values per element
        return np.zeros(sizes, dtype.numpy)
    values = source.standard_normal(sizes)
    if dtype.is_integer:
        values = source.integers(0, _LARGEST_INTEGER, sizes).astype(np.float64)
    elif kind == "wide":
        values *= 10.0 ** source.uniform(-3, 3, sizes)
    if kind == "equal" and values.size:
        values[...] = values.flat[0]
    return (values * (kind != "zero")).astype(np.float32).astype(dtype.numpy)
