"""Whether two traces of a kernel compute the same: both run on the same random values."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_PRODUCTS, MOST_BYTES = 2e10, 5e8
"""Multiply-accumulates, and bytes loaded, of a program that is run: a few seconds."""
_TOLERANCE = 0.02
"""Relative to the root mean square: sums in another order, in the shortest common format."""


class Sample:
    """The results of a TracedKernel for random values, computed when they are first needed."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._results: list[np.ndarray] | None = None

    def equals(self, other: Any) -> bool:
        """Whether a kernel of the same arguments writes the same values; False also for kernels
        that are too large to be run."""
        counters = self._kernel.source.counters()
        products, loaded = counters["multiply_accumulates"], counters["hbm_read_bytes"]
        if products > MOST_PRODUCTS or loaded > MOST_BYTES:
            return False
        if self._results is None:
            self._results = _run(self._kernel)
        return all(map(_are_near, self._results, _run(other)))


def _run(kernel: Any) -> list[np.ndarray]:
    """What a kernel writes for random inputs; outputs are 0 before."""
    random = np.random.default_rng(0)
    arrays = []
    for number, (shape, dtype) in enumerate(kernel.arguments):
        array = np.zeros(shape, dtype.numpy)
        if number < len(kernel.inputs) and dtype.is_float:
            array = random.standard_normal(shape, np.float32).astype(dtype.numpy)
        arrays.append(np.ascontiguousarray(array))
    kernel.source.run([each.reshape(-1).view(np.uint8) for each in arrays])
    written = [each["written"] for each in kernel.source.arguments]
    return [each.ravel() for each, wanted in zip(arrays, written, strict=True) if wanted]


def _are_near(first: np.ndarray, second: np.ndarray) -> bool:
    if first.dtype.kind in "iubV":
        return first.tobytes() == second.tobytes()
    one, two = first.astype(np.float64), second.astype(np.float64)
    finite = np.isfinite(one)
    if not np.array_equal(finite, np.isfinite(two)):
        return False
    scale = np.sqrt(np.mean(one[finite] ** 2)) if finite.any() else 0.0
    distance = np.abs(one[finite] - two[finite])
    return bool(np.all(distance <= _TOLERANCE * (np.abs(one[finite]) + scale)))
