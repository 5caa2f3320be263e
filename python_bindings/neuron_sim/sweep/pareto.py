"""The Pareto front: rows that no other row beats in every objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def pareto_front(rows: Sequence[Mapping[str, Any]], objectives: Sequence[str]) -> list[int]:
    """Positions of the rows than which no other is better in one objective and as good in the rest.

    An objective is the name of a figure, the smaller the better; after "-", the larger the better.
    Rows without one of the figures (refused ones) are not on the front; equal rows all are.
    ValueError for an objective that no row has as a number.
    """
    costs: dict[int, tuple[float, ...]] = {}
    names = [(each.removeprefix("-"), -1.0 if each.startswith("-") else 1.0) for each in objectives]
    for name, _ in names:
        if not any(_is_number(row.get(name)) for row in rows):
            raise ValueError(f"no point has a number '{name}'.")
    for number, row in enumerate(rows):
        if all(_is_number(row.get(name)) for name, _ in names):
            costs[number] = tuple(sign * row[name] for name, sign in names)
    return [
        number
        for number, cost in costs.items()
        if not any(_beats(other, cost) for other in costs.values())
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _beats(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
    return first != second and all(a <= b for a, b in zip(first, second, strict=True))
