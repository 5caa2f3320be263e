"""How true the times are for authors whose kernels had no part in any choice of the model.

All kernels of one author are left out, every rule and fitted value is chosen again with the kernels
of the others, and the left-out kernels are timed with what was chosen. The search is coarse: one
choice after the other takes the candidate with the smallest mean absolute error of the training
kernels while the others stay, in SWEEPS rounds from the published choices. A choice that no
training kernel tells anything about takes its neutral candidate, the first: a rule off, a cost of
nothing. The costs of the compiler's scheduler stay: they follow the order of traces, not times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from neuron_sim.fidelity.statistics import error_percent

SWEEPS = 2
PREFERRED = (1.0, 1.12, 1.25, 1.4, 1.6, 1.8, 2.0, 2.24, 2.5, 2.8, 3.15, 3.55, 4.0, 4.5, 5.0, 5.6)
PREFERRED += (6.3, 7.1, 8.0, 9.0)
"""Values to choose from, times powers of ten: the preferred numbers R20 of ISO 3, 12 % apart."""
REACH = 2.0
"""Candidates of a value lie within this factor of the published one."""


@dataclass(frozen=True)
class Choice:
    """A rule or value that is chosen anew."""

    name: str
    candidates: tuple[float, ...]
    """The neutral one first."""
    published: float


Taken = Mapping[str, float]
"""A candidate for each choice, by name."""
Number = Callable[[str, Taken], float]
"""The simulated number of a kernel, by its measurement's id, with these choices."""


@dataclass(frozen=True)
class Measured:
    """A kernel of an author."""

    id: str
    author: str
    value: float


@dataclass(frozen=True)
class LeftOut:
    """The kernels of one author, timed with choices that the others' kernels made."""

    author: str
    chosen: Mapping[str, float]
    """Choices that differ from the published ones."""
    training_percent: float
    """Mean absolute error of the other authors' kernels with these choices."""
    with_percent: Mapping[str, float]
    """Errors of the author's kernels with the published choices, by id."""
    without_percent: Mapping[str, float]
    """Errors of the author's kernels with these choices, by id."""


def preferred_near(value: float) -> tuple[float, ...]:
    """The preferred numbers within REACH of a positive value."""
    decades = (10.0**power for power in range(-6, 10))
    numbers = (round(decade * each, 9) for decade in decades for each in PREFERRED)
    return tuple(each for each in numbers if value / REACH <= each <= value * REACH)


def training_error(kernels: Sequence[Measured], taken: Taken, number: Number) -> float:
    """Mean absolute error of the kernels in percent."""
    return fmean(abs(error_percent(each.value, number(each.id, taken))) for each in kernels)


def refit(choices: Sequence[Choice], kernels: Sequence[Measured], number: Number) -> Taken:
    """The candidates that coordinate search takes for these kernels."""
    taken = {each.name: each.published for each in choices}
    for _ in range(SWEEPS):
        before = dict(taken)
        for choice in choices:
            errors = [
                round(training_error(kernels, {**taken, choice.name: candidate}, number), 9)
                for candidate in choice.candidates
            ]
            taken[choice.name] = choice.candidates[errors.index(min(errors))]
        if taken == before:
            break
    return taken


def leave_out_authors(
    choices: Sequence[Choice], kernels: Sequence[Measured], number: Number
) -> Iterator[LeftOut]:
    """Each author's kernels with choices made without them, by name; one author is an error."""
    authors = sorted({each.author for each in kernels})
    if len(authors) < 2:
        raise ValueError(f"all kernels are by {authors}: no other kernels choose without them.")
    published = {each.name: each.published for each in choices}
    for author in authors:
        others = [each for each in kernels if each.author != author]
        taken = refit(choices, others, number)
        own = [each for each in kernels if each.author == author]

        def errors(taken: Taken, own: Sequence[Measured] = own) -> dict[str, float]:
            return {each.id: error_percent(each.value, number(each.id, taken)) for each in own}

        yield LeftOut(
            author,
            {name: value for name, value in taken.items() if value != published[name]},
            training_error(others, taken, number),
            errors(published),
            errors(taken),
        )


def overall_percent(left_out: Sequence[LeftOut], which: str = "without_percent") -> float:
    """Mean absolute error of all kernels, each left out once (or `with_percent`)."""
    return fmean(abs(error) for each in left_out for error in getattr(each, which).values())
