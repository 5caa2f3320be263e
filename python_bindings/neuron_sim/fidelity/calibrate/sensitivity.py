"""How strongly the simulated numbers follow each parameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuron_sim.fidelity.calibrate.fit import jacobian
from neuron_sim.fidelity.calibrate.problem import Problem


@dataclass(frozen=True)
class Sensitivity:
    """Percent by which simulated numbers change when the parameter grows by 1 %."""

    mean: float
    """Mean magnitude of all changes."""
    most: float
    """Mean magnitude in the most sensitive group."""
    group: str


def sensitivities(problem: Problem, positions: np.ndarray) -> dict[str, Sensitivity]:
    """By key, at some positions of all parameters."""
    every = range(len(problem.parameters))
    by_group: dict[str, np.ndarray] = {}
    for group in problem.groups:
        scales = [
            np.full(len(part), block.scale)
            for block, part in zip(problem.blocks, problem(positions), strict=True)
            if block.group == group
        ]
        change = jacobian(problem, positions, every, [group]) * np.concatenate(scales)[:, None]
        by_group[group] = np.abs(change)
    everything = np.concatenate(list(by_group.values()))
    result = {}
    for index, parameter in enumerate(problem.parameters):
        elasticity = parameter.value(positions[index]) / (parameter.high - parameter.low)
        means = {name: float(change[:, index].mean()) for name, change in by_group.items()}
        group = max(means, key=lambda name: means[name])
        result[parameter.key] = Sensitivity(
            mean=elasticity * float(everything[:, index].mean()),
            most=elasticity * means[group],
            group=group,
        )
    return result
