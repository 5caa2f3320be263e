"""How a fit does on unseen data: one family or one trace left out at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from neuron_sim.fidelity.calibrate.fit import Fit, fit
from neuron_sim.fidelity.calibrate.problem import Problem


@dataclass(frozen=True)
class GroupError:
    """Errors of one family or trace, in percent, without and with it in the fit."""

    group: str
    kind: str
    """`latency` (mean of the absolute errors) or the kind of trace residual (their median)."""
    residuals: int
    before: float
    training: float
    left_out: float | None
    """None when no data is left to fit."""


def _error(kind: str, residuals: np.ndarray) -> float:
    if kind == "latency":
        return 100 * float(np.mean(np.abs(np.expm1(residuals))))
    return 100 * float(np.median(np.abs(residuals)))


def _errors(problem: Problem, positions: np.ndarray) -> list[float]:
    """The error of each block."""
    return [
        _error(block.kind, residuals)
        for block, residuals in zip(problem.blocks, problem(positions), strict=True)
    ]


def group_errors(
    problem: Problem, trained: Fit, unseen: Mapping[str, Sequence[float]] | None = None
) -> list[GroupError]:
    """The error of every block before the fit and after it; `unseen`: by group, the errors of all
    blocks after a fit without that group."""
    unseen = unseen or {}
    before = _errors(problem, problem.start)
    training = _errors(problem, trained.positions)
    return [
        GroupError(
            group=block.group,
            kind=block.kind,
            residuals=len(residuals),
            before=before[place],
            training=training[place],
            left_out=unseen[block.group][place] if block.group in unseen else None,
        )
        for place, (block, residuals) in enumerate(
            zip(problem.blocks, problem(problem.start), strict=True)
        )
    ]


def cross_validate(problem: Problem, trained: Fit, evaluations: int = 4) -> list[GroupError]:
    """The errors with every group left out once.

    A refit starts from the priors, so that the left-out group has no influence; parameters that
    the rest does not determine stay there.
    """
    unseen = {}
    for group in problem.groups:
        others = [each for each in problem.groups if each != group]
        if others:
            unseen[group] = _errors(
                problem, fit(problem, others, evaluations, problem.prior).positions
            )
    return group_errors(problem, trained, unseen)


def overall(errors: Sequence[GroupError], kind: str, which: str) -> float | None:
    """Mean over all residuals of a kind of the groups' `which` error; None without any."""
    known = [each for each in errors if each.kind == kind and getattr(each, which) is not None]
    count = sum(each.residuals for each in known)
    if not count:
        return None
    return sum(each.residuals * getattr(each, which) for each in known) / count
