"""Searches the parameters of a study for the point with the least cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from neuron_sim.sweep.parameters import check_parameters
from neuron_sim.sweep.point import KernelFigures, evaluate
from neuron_sim.sweep.results import Results
from neuron_sim.sweep.run import SweepRows
from neuron_sim.sweep.study import Point, Study, Value
from neuron_sim.terminal.exit_codes import ProgramError
from neuron_sim.terminal.extras import explained
from neuron_sim.terminal.suggestions import did_you_mean
from neuron_sim.timeline.interval import TOLD_APART

_REPEATS = 20
"""Proposals per trial that may be of points already known."""


@dataclass(frozen=True)
class Tuned:
    """What a search found."""

    best: Point
    """The parameters of the least cost; of equal ones the first found."""
    cost: float
    rows: SweepRows
    """Parameters and figures of every point that was timed, in the order of the search."""
    alike: tuple[Point, ...] = ()
    """Other points whose times are less than TOLD_APART above the least, in the order of their
    times: which of them is fastest on a chip the simulation cannot tell. None of a figure that is
    no time."""

    def _repr_html_(self) -> str:
        return self.rows._repr_html_()


def tune(
    study: Study,
    trials: int = 60,
    figure: str = "latency_us",
    seed: int = 0,
    results: str | os.PathLike[str] | None = None,
    advance: Callable[[int, int], None] | None = None,
) -> Tuned:
    """The best of at most `trials` points, each timed once; fewer where the grid has fewer.

    `figure` is what is minimised; refused points count as trials. The same seed proposes the same
    points; `results` as of run_sweep(). ProgramError when every point was refused; ValueError when
    one has no such figure, and for less than one trial; ModuleNotFoundError without optuna.
    """
    if trials < 1:
        raise ValueError(f"a search needs at least one trial, not {trials}.")
    check_parameters(study)
    if not study.is_model:  # whose figures depend on the model
        _check_figure(figure)
    most = min(trials, study.size)
    rows = SweepRows()
    costs: list[float] = []
    with Results(results) as known:
        search = _Search(study, seed)
        while len(rows) < most and (point := search.propose()) is not None:
            figures = _figures(study, point, known)
            cost = figures.get(figure)
            if not isinstance(cost, int | float) and "error" not in figures:
                raise ValueError(f"a point has no number '{figure}'; it has {', '.join(figures)}.")
            known_cost = float(cost) if isinstance(cost, int | float) else None
            search.tell(known_cost)
            rows.append({**point, **figures})
            costs.append(float("inf") if known_cost is None else known_cost)
            if advance is not None:
                advance(len(rows), most)
    if min(costs) == float("inf"):
        raise ProgramError(f"every point was refused: {rows[0]['error']}")
    best, *others = sorted(range(len(rows)), key=lambda index: costs[index])
    points = [{name: row[name] for name in study.parameters} for row in rows]
    limit = (1 + TOLD_APART) * costs[best] if figure.endswith("_us") else float("-inf")
    alike = tuple(points[other] for other in others if costs[other] < limit)
    return Tuned(points[best], costs[best], rows, alike)


def _check_figure(figure: str) -> None:
    hints = get_type_hints(KernelFigures)
    numbers = [name for name, kind in hints.items() if kind in (int, float)]
    if figure not in numbers:
        near = did_you_mean(figure, numbers)
        raise ValueError(f"a point has no number '{figure}'{near}; it has {', '.join(numbers)}.")


def _figures(study: Study, point: Point, known: Results) -> dict[str, Any]:
    (key,) = study.keys([point])
    if key not in known.found:
        known.add(key, point, evaluate(study, point))
    return known.found[key]


class _Search:
    """optuna's proposals, of points that it was not told about yet."""

    def __init__(self, study: Study, seed: int) -> None:
        with explained("sweep"):
            import optuna  # an optional extra
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna = optuna
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=15)
        self._search = optuna.create_study(sampler=sampler)
        self._parameters = study.parameters
        self._points = study.points()
        self._known: dict[tuple[Value, ...], float | None] = {}
        self._trial: Any = None
        self._current: tuple[Value, ...] = ()

    def propose(self) -> Point | None:
        """A new point; the first unknown one of the grid where optuna proposes known ones only;
        None when all are known."""
        for _ in range(_REPEATS):
            self._trial = self._search.ask()
            self._current = tuple(
                self._suggested(name, values) for name, values in self._parameters.items()
            )
            if self._current not in self._known:
                return dict(zip(self._parameters, self._current, strict=True))
            self._end(self._known[self._current])
        for point in self._points:
            self._current = tuple(point.values())
            if self._current not in self._known:
                self._search.enqueue_trial(
                    {name: _place(self._parameters[name], value) for name, value in point.items()}
                )
                self._trial = self._search.ask()
                for name, values in self._parameters.items():
                    self._suggested(name, values)
                return point
        return None

    def _suggested(self, name: str, values: Sequence[Value]) -> Value:
        """Numbers by their place in ascending order, so that neighbours count as alike."""
        if not _is_ordered(values):
            return self._trial.suggest_categorical(name, list(values))
        return sorted(values)[self._trial.suggest_int(name, 0, len(values) - 1)]

    def tell(self, cost: float | None) -> None:
        """The cost of the point that was proposed; None when it was refused."""
        self._known[self._current] = cost
        self._end(cost)

    def _end(self, cost: float | None) -> None:
        state = self._optuna.trial.TrialState
        if cost is None:
            self._search.tell(self._trial, state=state.FAIL)
        else:
            self._search.tell(self._trial, cost)


def _is_ordered(values: Sequence[Value]) -> bool:
    return all(isinstance(each, int | float) and not isinstance(each, bool) for each in values)


def _place(values: Sequence[Value], value: Value) -> Value:
    return sorted(values).index(value) if _is_ordered(values) else value
