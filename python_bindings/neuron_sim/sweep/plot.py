"""Pictures of a sweep: curves over one parameter, or a heat map over two."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from neuron_sim.sweep.study import Study
from neuron_sim.terminal.extras import explained

_SIZE = (8, 5)  # inches


def plot(
    study: Study, rows: Sequence[Mapping[str, Any]], figure: str, path: str | os.PathLike[str]
) -> None:
    """Writes a picture of `figure` in the format of the path's ending. With one parameter that
    changes, a curve; with two, a heat map; with more, curves over the first, one per combination of
    the others. Refused points are gaps. ValueError for a figure that no row has as a number and an
    ending that matplotlib does not write; ModuleNotFoundError without matplotlib; OSError."""
    with explained("sweep"):
        import matplotlib  # an optional extra, and slow to import
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot  # after the choice of its back end

    if not any(isinstance(row.get(figure), int | float) for row in rows):
        raise ValueError(f"no point has a number '{figure}'.")
    changing = [name for name, values in study.parameters.items() if len(values) > 1]
    if not changing:
        raise ValueError("no parameter has more than one value: there is nothing to draw.")
    drawn, axes = pyplot.subplots(figsize=_SIZE, layout="constrained")
    try:
        if len(changing) == 2:
            _heat_map(axes, study, rows, figure, changing[0], changing[1])
        else:
            _curves(axes, study, rows, figure, changing[0], changing[1:])
        axes.set_title(f"{os.path.basename(study.target)}: {figure}")
        drawn.savefig(path, dpi=150)
    finally:
        pyplot.close(drawn)


def _number(row: Mapping[str, Any], figure: str) -> float:
    value = row.get(figure)
    return float(value) if isinstance(value, int | float) else float("nan")


def _heat_map(
    axes: Any, study: Study, rows: Sequence[Mapping[str, Any]], figure: str, down: str, across: str
) -> None:
    values = {(row[down], row[across]): _number(row, figure) for row in rows}
    height, width = study.parameters[down], study.parameters[across]
    grid = [[values[y, x] for x in width] for y in height]
    image = axes.imshow(grid, aspect="auto", cmap="viridis_r")
    axes.figure.colorbar(image, label=figure)
    axes.set_xticks(range(len(width)), [str(each) for each in width])
    axes.set_yticks(range(len(height)), [str(each) for each in height])
    axes.set_xlabel(across)
    axes.set_ylabel(down)
    for y, line in enumerate(grid):
        for x, value in enumerate(line):
            if value == value and len(width) * len(height) <= 100:
                middle = image.norm(value) > 0.5  # dark cells take light digits
                colour = "white" if middle else "black"
                axes.text(x, y, f"{value:.4g}", ha="center", va="center", color=colour, fontsize=8)


def _curves(
    axes: Any, study: Study, rows: Sequence[Mapping[str, Any]], figure: str, over: str,
    others: Sequence[str],
) -> None:  # fmt: skip
    places = study.parameters[over]
    numeric = all(isinstance(each, int | float) for each in places)
    curves: dict[tuple[Any, ...], dict[Any, float]] = {}
    for row in rows:
        curves.setdefault(tuple(row[each] for each in others), {})[row[over]] = _number(row, figure)
    across = list(places) if numeric else list(range(len(places)))
    for which, curve in curves.items():
        named = ", ".join(f"{name} {value}" for name, value in zip(others, which, strict=True))
        axes.plot(across, [curve[place] for place in places], marker="o", label=named or None)
    if not numeric:
        axes.set_xticks(across, [str(each) for each in places])
    axes.set_xlabel(over)
    axes.set_ylabel(figure)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    if others:
        axes.legend(fontsize=8)
