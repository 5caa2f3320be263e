"""A measurement together with the kernel that reproduces it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from neuron_sim import _core
from neuron_sim.fidelity.measurement import Measurement

TIMES = {"s": 1e-6, "ms": 1e-3, "us": 1.0, "ns": 1e3}
"""Units of time per microsecond."""

Build = Callable[[], "_core.Program"]
Timings = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Launch:
    """One kernel as its author wrote it, and the stack that compiled it."""

    build: Build
    """The kernel in program order, before any compiler pass."""
    stack: str
    """Name of a published stack (compiler version, target, flags): `_core.published_stacks()`."""


@dataclass(frozen=True)
class Case:
    """Launches whose simulated times reproduce one measurement."""

    measurement: Measurement
    launches: tuple[Launch, ...]
    """Run one after the other."""
    reading: Callable[[Timings], float]
    """The number, from the timings of the launches: microseconds for a time (whatever the
    measurement's unit), the measurement's unit for anything else."""

    def number(self, timings: Timings) -> float:
        """The number that the timings of the launches give, in the measurement's unit."""
        return self.reading(timings) * TIMES.get(self.measurement.unit, 1.0)


def total(key: str) -> Callable[[Timings], float]:
    """Reads the sum of one time of all launches: body_us, latency_us or profile_us."""
    return lambda timings: sum(float(timing[key]) for timing in timings)


def rate(amount: float, key: str = "body_us") -> Callable[[Timings], float]:
    """Reads `amount` per nanosecond (bytes: GB/s; elements: GElem/s; flops / 1000: TFLOP/s)."""
    return lambda timings: amount / (1e3 * sum(float(timing[key]) for timing in timings))
