"""How far a chip's own time may be from a simulated one.

The interval of a kernel comes from the errors of measured kernels of its kind, which is what the
simulated timeline says takes the time: products, transfers, element-wise instructions, or waiting
for each other (latency). So a kernel that nobody has measured has one, too.

The rule is split conformal prediction: the simulated time multiplied by two quantiles of measured /
simulated. It needs errors of kernels that the model was not fitted to, so those of the suite in
docs/fidelity.md, which the model was fitted to, do not count. A kind of fewer than LEAST_KERNELS
takes the errors of all kinds. How many kernels of a family lie in intervals without that family is
in docs/fidelity.md (neuron_sim.fidelity.coverage).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuron_sim.terminal.tables import cell

COVERAGE = 0.8
"""Share of the measured times that an interval should contain."""

TOLD_APART = 0.1
"""Share by which simulated times of two kernels for the same work differ at least if their order
says anything: of measured variants that are nearer, half stand in the measured order (`neuron-sim
fidelity --variants`)."""

LEAST_KERNELS = 30
"""Kernels from which a kind has quantiles of its own: three beyond each end."""

KINDS = {
    "Tensor": "products",
    "DMA": "transfers",
    "Sync": "transfers",  # which it triggers
    "Vector": "element-wise instructions",
    "Scalar": "element-wise instructions",
    "GpSimd": "element-wise instructions",
    "latency": "latency",
}
"""Kind by `bottleneck` of `Program.time()`: the unit that is busy more than half of the body."""

STORED = Path(__file__).parent / "measured_errors.json"
"""The errors behind the intervals, written by tools/write_fidelity_docs.py."""


@dataclass(frozen=True)
class MeasuredError:
    """A kernel that was measured and simulated, and that no rule was fitted to."""

    family: str
    kind: str
    """A value of KINDS."""
    ratio: float
    """Measured time / simulated time."""


@dataclass(frozen=True)
class Interval:
    """Where COVERAGE of the measured times lie, as factors of the simulated time."""

    low: float
    high: float
    kind: str
    """That of the kernel."""
    kernels: int
    """Measured kernels behind it, of this kind or, where these are few, of all."""

    def around(self, time: float) -> tuple[float, float]:
        """The ends of the interval of a simulated time, in its unit."""
        return self.low * time, self.high * time

    def text(self, name: str, time: float) -> str:
        """One line for a simulated time in microseconds that is called `name`."""
        return (
            f"{name} {cell(time)} us, bound by {self.kind}; {cell(self.low * time)} to "
            f"{cell(self.high * time)} us with the errors of {COVERAGE:.0%} of {self.kernels} "
            "measured kernels."
        )


def kind_of(timings: Sequence[Mapping[str, Any]]) -> str:
    """The kind of the longest of some timings, dicts of `Program.time()`."""
    return KINDS[max(timings, key=lambda timing: timing["body_us"])["bottleneck"]]


@functools.cache
def stored_errors() -> tuple[MeasuredError, ...]:
    """The errors that come with the package."""
    return tuple(MeasuredError(**each) for each in json.loads(STORED.read_text(encoding="utf-8")))


def interval(kind: str, errors: Sequence[MeasuredError] | None = None) -> Interval:
    """The interval of a kind, from the stored errors or others; ValueError without any."""
    errors = stored_errors() if errors is None else errors
    alike = [each for each in errors if each.kind == kind]
    if len(alike) < LEAST_KERNELS:
        alike = list(errors)
    if not alike:
        raise ValueError(f"there is no error of a measured kernel for an interval of '{kind}'.")
    ends = [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]
    low, high = np.quantile([each.ratio for each in alike], ends)
    return Interval(float(low), float(high), kind, len(alike))
