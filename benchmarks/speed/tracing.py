"""Rows of NKI: tracing and the compiler's passes, per instruction, and the GIL during a run."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import nki_new_kernels
import nki_old_kernels
import numpy as np

from speed.figures import Figure
from speed.sizes import Sizes
from speed.timing import seconds

MODULES = (nki_new_kernels, nki_old_kernels)


@contextmanager
def instructions(count: int) -> Iterator[None]:
    """The kernels of both modules have about that many instructions each."""
    with ExitStack() as stack:
        for module in MODULES:
            stack.enter_context(mock.patch.object(module, "INSTRUCTIONS", count))
        yield


def argument() -> np.ndarray:
    """The array that the kernels take."""
    return np.ones((128, nki_new_kernels.COLUMNS), np.float32)


def trace_and_compile(call: Any) -> tuple[Any, float, float]:
    """The traced kernel, seconds of its tracing, seconds of the compiler's passes."""
    traced: list[Any] = []
    tracing = seconds(lambda: traced.append(call.trace_anew()))
    passes = seconds(lambda: traced[0].program)
    return traced[0], tracing, passes


def _costs(kernel: Any, repetitions: int) -> tuple[float, float, float]:
    """Microseconds of tracing per instruction that it emits, of the passes per instance and per
    instruction: they take each instance of a loop by itself."""
    call = kernel.call(argument())
    tracings, passes = [], []
    for _ in range(repetitions + 1):
        traced, *spent = trace_and_compile(call)
        tracings.append(spent[0])
        passes.append(spent[1])
    emitted = traced.source.listing().count("(dst=")
    instances = traced.source.time()["instructions"]
    microseconds = [min(spent[1:]) * 1e6 for spent in (tracings, passes)]
    return microseconds[0] / emitted, microseconds[1] / instances, microseconds[1] / emitted


def _middle_and_slowest(name: str, costs: dict[str, float]) -> list[Figure]:
    slowest = max(costs, key=costs.__getitem__)
    return [
        Figure(f"{name}, median", statistics.median(costs.values()), note=f"{len(costs)} kernels"),
        Figure(f"{name}, slowest", costs[slowest], note=slowest),
    ]


def per_instruction(sizes: Sizes) -> list[Figure]:
    """Over the kernels of both languages."""
    with instructions(sizes.instructions):
        repetitions = min(sizes.repetitions, 2)  # a repetition of all of them takes seconds
        costs = {
            f"{module.__name__}.{kernel.__name__}": _costs(kernel, repetitions)
            for module in MODULES
            for kernel in module.KERNELS
        }
    return [
        figure
        for number, name in enumerate(("tracing", "passes", "passes per traced instruction"))
        for figure in _middle_and_slowest(name, {key: each[number] for key, each in costs.items()})
    ]


def gil(sizes: Sizes) -> list[Figure]:
    """Processor time that another Python thread gets while a kernel computes on NumPy arrays, in
    percent of the kernel's."""
    with instructions(sizes.instructions):
        call = nki_new_kernels.products.call(argument())
        traced = call.trace_anew()
        traced.program  # noqa: B018 - compiled on first access
    spent = []

    def run() -> None:
        start = time.thread_time()
        traced.run(call.arrays)
        spent.append(time.thread_time() - start)

    kernel = threading.Thread(target=run)
    kernel.start()
    start = time.thread_time()
    while kernel.is_alive():
        pass
    other = time.thread_time() - start
    share = min(100.0, 100 * other / spent[0])
    return [Figure("other thread", share, other, spent[0], "s")]
