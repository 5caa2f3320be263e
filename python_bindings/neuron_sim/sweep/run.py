"""Runs the points of a study, here or on an executor, and keeps what is found."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, as_completed
from typing import Any

from neuron_sim.sweep.parameters import check_parameters
from neuron_sim.sweep.point import evaluate
from neuron_sim.sweep.results import Results
from neuron_sim.sweep.study import ARCHITECTURE, Point, Study
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

    UserWarning when some points went through compiler passes and others did not; errors of
    check_parameters().
    """
    check_parameters(study)
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
        rows = SweepRows(
            {**point, **known.found[key]} for key, point in zip(keys, points, strict=True)
        )
    if differ := incomparable(rows):
        warnings.warn(differ, stacklevel=2)
    return rows


def incomparable(rows: Iterable[dict[str, Any]]) -> str | None:
    """One sentence where some points went through compiler passes and others did not."""
    first: dict[bool, dict[str, Any]] = {}
    for row in rows:
        if "passes" in row:
            first.setdefault("none" in row["passes"].split(", "), row)
    if len(first) < 2:
        return None
    with_passes, without = (
        f"arch {first[lacks][ARCHITECTURE]}" if ARCHITECTURE in first[lacks] else "some points"
        for lacks in (False, True)
    )
    return (
        f"the times are not comparable: {without} ran without the compiler's passes, {with_passes} "
        f"with those of {first[False]['passes']} (column 'passes')."
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
