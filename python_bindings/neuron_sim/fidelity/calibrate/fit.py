"""Bounded least squares, and the parameters that the data does not determine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from neuron_sim.fidelity.calibrate.problem import Problem

STEP = 0.02
"""Step of a finite difference, as a fraction of a parameter's range: well above one picosecond."""
SINGULAR = 1e-3
"""Directions whose residuals change by less than this share of the strongest are undetermined."""
_INSIDE = 1e-3  # least_squares should start inside the bounds


@dataclass
class Fit:
    """Result of a fit; positions are between the bounds, 0 to 1."""

    positions: np.ndarray
    """Positions of all parameters; refused ones stay where they started."""
    standard_errors: dict[str, float] = field(default_factory=dict)
    """By key, in the unit of the value; only of fitted parameters."""
    refused: dict[str, str] = field(default_factory=dict)
    """Parameters that the data does not determine, with the reason."""


def jacobian(
    problem: Problem, positions: np.ndarray, active: Sequence[int], groups: Sequence[str]
) -> np.ndarray:
    """Change of the scaled residuals per range of each active parameter: [residuals, active]."""
    here = problem.scaled(positions, groups)
    columns = np.zeros((len(here), len(active)))
    for place, index in enumerate(active):
        step = STEP if positions[index] + STEP <= 1 else -STEP
        moved = positions.copy()
        moved[index] += step
        columns[:, place] = (problem.scaled(moved, groups) - here) / step
    return columns


def _standard_errors(change: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    """Standard errors of positions, from the remaining residuals, which outnumber the columns.

    Each residual has the weight that the robust loss gives it, so that a missing mechanism
    does not make every other value uncertain.
    """
    rows, columns = change.shape
    weights = 1 / np.sqrt(1 + residuals**2)  # derivative of soft_l1 with respect to the square
    variance = float(weights @ residuals**2) / (rows - columns)
    normal = change.T @ (weights[:, None] * change)
    return np.sqrt(variance * np.diag(np.linalg.inv(normal)))


def _undetermined(
    problem: Problem, active: Sequence[int], change: np.ndarray
) -> tuple[int, str] | None:
    """The index in `active` of a parameter with no distinct effect, and why."""
    sizes = np.linalg.norm(change, axis=0)
    if sizes.min() <= 1e-9:
        return int(sizes.argmin()), "no residual depends on it"
    if len(change) <= len(active):
        return int(sizes.argmin()), "there are no more residuals than parameters"
    _, strengths, directions = np.linalg.svd(change / sizes, full_matrices=False)
    if strengths[-1] >= SINGULAR * strengths[0]:
        return None
    weights = np.abs(directions[-1])
    worst = int(weights.argmax())
    names = [problem.parameters[active[i]].key for i in np.flatnonzero(weights > 0.1) if i != worst]
    return worst, f"the data cannot tell it from {', '.join(names)}"


def _imprecise(
    problem: Problem, active: Sequence[int], errors: np.ndarray
) -> tuple[int, str] | None:
    """The index in `active` of the largest standard error, if it exceeds the parameter's range."""
    worst = int(errors.argmax())
    if errors[worst] <= 1:
        return None
    parameter = problem.parameters[active[worst]]
    span = parameter.high - parameter.low
    return worst, (
        f"its standard error {errors[worst] * span:.3g} {parameter.unit} is larger than "
        f"its range {span:.3g}"
    )


def _determined(
    problem: Problem, positions: np.ndarray, active: list[int], groups: Sequence[str], final: bool
) -> tuple[list[int], dict[str, str], np.ndarray]:
    """The active parameters that the data determines at `positions`, why the others are not, and
    the standard errors of the former's positions.

    Standard errors count only where a fit ended (`final`): before, residuals are too large.
    """
    change = jacobian(problem, positions, active, groups)
    residuals = problem.scaled(positions, groups)
    refused: dict[str, str] = {}
    while active:
        weakest = _undetermined(problem, active, change)
        if weakest is None:
            errors = _standard_errors(change, residuals)
            weakest = _imprecise(problem, active, errors) if final else None
        if weakest is None:
            return active, refused, errors
        place, reason = weakest
        refused[problem.parameters[active[place]].key] = reason
        active = active[:place] + active[place + 1 :]
        change = np.delete(change, place, axis=1)
    return active, refused, np.zeros(0)


def _optimum(
    problem: Problem, active: list[int], groups: Sequence[str], evaluations: int, start: np.ndarray
) -> np.ndarray:
    """Positions of all parameters with the active ones at their best."""
    from scipy.optimize import least_squares

    def full(inner: np.ndarray) -> np.ndarray:
        positions = start.copy()
        positions[active] = inner
        return positions

    result = least_squares(
        lambda inner: problem.scaled(full(inner), groups),
        np.clip(start[active], _INSIDE, 1 - _INSIDE),
        jac=lambda inner: jacobian(problem, full(inner), active, groups),
        bounds=(0, 1),
        loss="soft_l1",  # a missing mechanism must not distort the others
        max_nfev=evaluations,
        xtol=1e-4,
        ftol=1e-5,
    )
    return full(result.x)


def fit(
    problem: Problem,
    groups: Sequence[str],
    evaluations: int = 12,
    start: np.ndarray | None = None,
) -> Fit:
    """Fits all parameters that the residuals of `groups` determine, from `start` (default: the
    hand-written values).

    Determination is judged where the fit starts and again where it ends; parameters that fail there
    return to their start, and the others are fitted again. `evaluations`: maximum steps of a fit.
    """
    start = problem.start if start is None else start
    everything = list(range(len(problem.parameters)))
    active, refused, _ = _determined(problem, start, everything, groups, final=False)
    while active:
        positions = _optimum(problem, active, groups, evaluations, start)
        kept, more, errors = _determined(problem, positions, active, groups, final=True)
        refused |= more
        if kept == active:
            spans = {i: problem.parameters[i].high - problem.parameters[i].low for i in active}
            found = {
                problem.parameters[i].key: float(error * spans[i])
                for i, error in zip(active, errors, strict=True)
            }
            return Fit(positions, found, refused)
        active = kept
    return Fit(start, {}, refused)
