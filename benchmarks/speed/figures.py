"""What a row of the table is, and what its function returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from speed.sizes import Sizes


@dataclass(frozen=True)
class Figure:
    """A number, and the two that it is a ratio of where it is one."""

    name: str
    value: float | None
    """None: not measured, and `note` says why."""
    ours: float | None = None
    other: float | None = None
    """What `ours` was compared with, in the same run."""
    pair_unit: str = ""
    note: str = ""


@dataclass(frozen=True)
class Goal:
    """The largest value that is good enough; with `at_least`, the smallest."""

    limit: float
    at_least: bool = False

    def met(self, value: float | None) -> bool | None:
        """None for a figure that was not measured."""
        if value is None:
            return None
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True)
class Row:
    """A row of the table; `figures` has the unit and goal (or None) of everything it prints."""

    name: str
    measured: str
    """What is measured and how, for the page."""
    figures: Mapping[str, tuple[str, Goal | None]]
    function: Callable[[Sizes], list[Figure]]

    def measure(self, sizes: Sizes) -> list[dict[str, Any]]:
        """The figures with unit and goal, as in the JSON. KeyError for one that is not listed."""
        entries = []
        for figure in self.function(sizes):
            unit, goal = self.figures[figure.name]
            entries.append(
                {
                    "name": figure.name,
                    "value": figure.value,
                    "unit": unit,
                    "ours": figure.ours,
                    "other": figure.other,
                    "pair_unit": figure.pair_unit,
                    "goal": None if goal is None else goal.limit,
                    "at_least": goal is not None and goal.at_least,
                    "met": None if goal is None else goal.met(figure.value),
                    "note": figure.note,
                }
            )
        return entries


def ratio(name: str, ours: float, other: float, unit: str, note: str = "") -> Figure:
    """How many times as much `ours` is as `other`."""
    return Figure(name, ours / other, ours, other, unit, note)
