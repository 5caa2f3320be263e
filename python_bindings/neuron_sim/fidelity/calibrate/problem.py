"""The residuals of a fit: how far the simulation is from latencies and traces."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neuron_sim.fidelity.calibrate.files import write_trial
from neuron_sim.fidelity.calibrate.parameters import Parameter

Residuals = Callable[[str], np.ndarray]
"""Residuals of the simulation with an architecture file, always in the same order."""

LATENCY_SCALE = 0.1
"""Typical error of a total: missing mechanisms, measurement noise."""
TRACE_SCALE = 0.03
"""Typical error of the duration or interval of one instruction of a trace."""


@dataclass(frozen=True)
class Block:
    """Residuals that belong together."""

    group: str
    """The unit that cross-validation leaves out: a family or a trace."""
    kind: str
    """`latency`: log(simulated / measured); else a relative error of a trace's instructions."""
    scale: float
    residuals: Residuals


class Problem:
    """Residuals as a function of the positions of the parameters between their bounds.

    Evaluations are cached, so that fits which share points share the work.
    """

    def __init__(
        self, architecture: str, parameters: Sequence[Parameter], blocks: Sequence[Block]
    ) -> None:
        self.architecture = architecture
        self.parameters = tuple(parameters)
        self.blocks = tuple(blocks)
        self.evaluations = 0
        self._known: dict[tuple[float, ...], tuple[np.ndarray, ...]] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="neuron_sim_calibrate")

    @property
    def start(self) -> np.ndarray:
        """Positions of the architecture's current values."""
        return np.array([each.position(each.start) for each in self.parameters])

    @property
    def prior(self) -> np.ndarray:
        """Positions without knowledge from kernel totals, clipped to the bounds."""
        values = [each.start if each.prior is None else each.prior for each in self.parameters]
        positions = [
            each.position(value) for each, value in zip(self.parameters, values, strict=True)
        ]
        return np.clip(positions, 0.0, 1.0)

    @property
    def groups(self) -> list[str]:
        """Names of the groups, in the order of the blocks."""
        return list(dict.fromkeys(block.group for block in self.blocks))

    def __call__(self, positions: Sequence[float]) -> tuple[np.ndarray, ...]:
        """Residuals of each block, not divided by its scale."""
        key = tuple(float(position) for position in positions)
        if key not in self._known:
            values: Mapping[str, tuple[float, str]] = {
                each.key: (each.value(position), each.unit)
                for each, position in zip(self.parameters, key, strict=True)
            }
            trial = write_trial(Path(self._folder.name), self.architecture, values)
            self._known[key] = tuple(block.residuals(str(trial)) for block in self.blocks)
            self.evaluations += 1
        return self._known[key]

    def scaled(self, positions: Sequence[float], groups: Sequence[str]) -> np.ndarray:
        """Residuals of some groups in one vector, each divided by its block's scale."""
        parts = zip(self.blocks, self(positions), strict=True)
        chosen = [part / block.scale for block, part in parts if block.group in groups]
        return np.concatenate(chosen) if chosen else np.zeros(0)


def log_ratio(simulated: float, measured: float) -> float:
    """log(simulated / measured): +-0.1 is about 10 %, alike for too slow and too fast."""
    return math.log(simulated / measured)
