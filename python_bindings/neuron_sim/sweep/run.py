"""Runs the points of a study, here or on an executor, and keeps what is found."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, as_completed
from typing import Any

from neuron_sim.sweep.point import evaluate
from neuron_sim.sweep.results import Results
from neuron_sim.sweep.study import Point, Study
from neuron_sim.terminal.tables import as_html

Advance = Callable[[int, int], None]
"""Is told how many points of how many are known."""


class SweepRows(list[dict[str, Any]]):
    """Rows of parameters and figures, in the order of the grid; a table in notebooks."""

    def _repr_html_(self) -> str:
        return as_html(self)


def run_sweep(
    study: Study,
    executor: Executor | None = None,
    results: str | os.PathLike[str] | None = None,
    advance: Advance | None = None,
) -> SweepRows:
    """The rows of all points, in the order of the grid whatever the executor does.

    `executor`: any of concurrent.futures, such as distributed.Client().get_executor(); without one,
    points are timed one after the other. `results`: a file that keeps each point when it is known;
    points that it has are not timed again. After KeyboardInterrupt, or an error of the executor,
    points that have not begun are cancelled, and the file has all that were known.
    """
    points = list(study.points())
    with Results(results) as known:
        keys = study.keys(points)
        missing = {key: point for key, point in zip(keys, points, strict=True)
                   if key not in known.found}  # fmt: skip
        done = len(points) - len(missing)
        if advance is not None:
            advance(done, len(points))
        for key, figures in _evaluated(study, missing, executor):
            known.add(key, missing[key], figures)
            done += 1
            if advance is not None:
                advance(done, len(points))
        return SweepRows(
            {**point, **known.found[key]} for key, point in zip(keys, points, strict=True)
        )


def _evaluated(
    study: Study, points: dict[str, Point], executor: Executor | None
) -> Iterable[tuple[str, dict[str, Any]]]:
    """Keys and figures, each when it is known."""
    if executor is None:
        for key, point in points.items():
            yield key, evaluate(study, point)
        return
    futures: dict[Future[dict[str, Any]], str] = {}
    try:
        for key, point in points.items():
            futures[executor.submit(evaluate, study, point)] = key
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()
