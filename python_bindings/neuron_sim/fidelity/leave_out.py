"""How true the times are for authors whose kernels had no part in any choice of the model.

All kernels of one author are left out, every rule and fitted value is chosen again with the kernels
of the others, and the left-out kernels are timed with what was chosen. The search is coarse: one
choice after the other leaves what it has, at first the published candidate, for the one with the
smallest mean absolute error of the training kernels, if the error falls by more than its standard
error (is_gain) while the other choices stay, in SWEEPS rounds. A choice that no training kernel
tells anything about takes its neutral candidate, the first: a rule off, a cost of nothing. The
costs of the compiler's scheduler stay: they follow the order of traces, not times.

Numbers are asked for in batches, and whoever simulates keeps them for the searches without other
authors. A candidate is dropped as soon as the errors of the kernels asked for so far, which come in
portions, exceed those of all kernels with the present candidate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeAlias

from neuron_sim.fidelity.statistics import error_percent

SWEEPS = 2
PREFERRED = (
    1.0, 1.12, 1.25, 1.4, 1.6, 1.8, 2.0, 2.24, 2.5, 2.8,
    3.15, 3.55, 4.0, 4.5, 5.0, 5.6, 6.3, 7.1, 8.0, 9.0,
)  # fmt: skip
"""Values to choose from, times powers of ten: the preferred numbers R20 of ISO 3, 12 % apart."""
REACH = 2.0
"""Candidates of a value lie within this factor of the published one."""
PORTIONS = (0.8, 0.9, 0.95, 1.0)
"""Shares of the kernels at which a portion of those asked for ends."""
ALIKE = 7
"""Digits after the point of sums of errors in percent that make two candidates differ."""


@dataclass(frozen=True)
class Choice:
    """A rule or value that is chosen anew."""

    name: str
    candidates: tuple[float, ...]
    """The neutral one first."""
    published: float


Taken: TypeAlias = Mapping[str, float]
"""A candidate for each choice, by name."""
Asked: TypeAlias = list[tuple[str, Taken]]
"""Kernels, by their measurements' ids, with the choices to time them with."""
Numbers: TypeAlias = Callable[[Asked], Sequence[float]]
"""The simulated number of each."""
Errors: TypeAlias = dict[str, float]
"""Errors in percent, by kernel."""


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


def portions(kernels: Sequence[Measured]) -> list[Sequence[Measured]]:
    """The kernels, which are in the order of what they cost, in the portions that are asked for."""
    ends = [round(share * len(kernels)) for share in PORTIONS]
    return [kernels[first:end] for first, end in zip([0, *ends], ends, strict=False)]


def _errors(kernels: Sequence[Measured], taken: Taken, numbers: Numbers) -> Errors:
    """Errors of the kernels in percent, by id."""
    pairs = zip(kernels, numbers([(each.id, taken) for each in kernels]), strict=True)
    return {each.id: error_percent(each.value, number) for each, number in pairs}


def _total(errors: Mapping[str, float]) -> float:
    return sum(map(abs, errors.values()))


def _best(
    choice: Choice,
    portions: Sequence[Sequence[Measured]],
    taken: Taken,
    present: Errors,
    numbers: Numbers,
) -> tuple[float, Errors]:
    """The candidate to take, with the kernels' errors: that with the smallest sum of absolute
    errors if its gain is more than chance, else what is taken now (`present`: its errors), or the
    first candidate whose sum is the same."""
    bar = min(choice.candidates, key=lambda each: abs(each - taken[choice.name]))
    if bar != taken[choice.name]:  # as published, which need not be a candidate
        every = [each for kernels in portions for each in kernels]
        present = _errors(every, {**taken, choice.name: bar}, numbers)
    errors = _errors_of_rivals(choice, bar, portions, taken, _total(present), numbers)
    errors[bar] = present
    sums = {
        each: round(_total(errors[each]), ALIKE) for each in choice.candidates if each in errors
    }
    best = min(sums, key=lambda each: sums[each])  # of several the first
    if not is_gain(present, errors[best]):
        best = next(each for each, sum_ in sums.items() if sum_ == sums[bar])
    return best, errors[best]


def _errors_of_rivals(
    choice: Choice,
    bar: float,
    portions: Sequence[Sequence[Measured]],
    taken: Taken,
    present: float,
    numbers: Numbers,
) -> dict[float, Errors]:
    """The errors with each candidate other than `bar` whose sum is at most `present`."""
    errors: dict[float, Errors] = {each: {} for each in choice.candidates if each != bar}
    for kernels in portions:
        pairs = [(each, candidate) for candidate in errors for each in kernels]
        found = numbers([(each.id, {**taken, choice.name: candidate}) for each, candidate in pairs])
        for (each, candidate), number in zip(pairs, found, strict=True):
            errors[candidate][each.id] = error_percent(each.value, number)
        errors = {each: some for each, some in errors.items()
                  if round(_total(some) - present, ALIKE) <= 0}  # fmt: skip
    return errors


def is_gain(present: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether the mean absolute error falls by more than the standard error of the fall, kernel by
    kernel, from `present` to `other`: the one-standard-error rule of model selection (Breiman et
    al., Classification and Regression Trees, 1984). What one kernel alone gains never is."""
    falls = [abs(error) - abs(other[name]) for name, error in present.items()]
    if sum(round(each, ALIKE) != 0 for each in falls) < 2:
        return False  # the fall is its standard error, but for rounding
    return fmean(falls) > stdev(falls) / math.sqrt(len(falls))


def refit(
    choices: Sequence[Choice], portions: Sequence[Sequence[Measured]], numbers: Numbers
) -> Taken:
    """The candidates that coordinate search takes for the kernels of these portions."""
    taken = {each.name: each.published for each in choices}
    present = _errors([each for kernels in portions for each in kernels], taken, numbers)
    for _ in range(SWEEPS):
        before = dict(taken)
        for choice in choices:
            taken[choice.name], present = _best(choice, portions, taken, present, numbers)
        if taken == before:
            break
    return taken


def _without(
    author: str, choices: Sequence[Choice], kernels: Sequence[Measured], numbers: Numbers
) -> LeftOut:
    others = [[each for each in some if each.author != author] for some in portions(kernels)]
    taken = refit(choices, others, numbers)
    published = {each.name: each.published for each in choices}
    own = [each for each in kernels if each.author == author]
    training = _errors([each for some in others for each in some], taken, numbers)
    return LeftOut(
        author,
        {name: value for name, value in taken.items() if value != published[name]},
        _total(training) / len(training),
        _errors(own, published, numbers),
        _errors(own, taken, numbers),
    )


def leave_out_authors(
    choices: Sequence[Choice], kernels: Sequence[Measured], numbers: Numbers
) -> list[LeftOut]:
    """Each author's kernels with choices made without them, by name; one author is an error.
    `kernels`: in the order of what they cost to simulate."""
    authors = sorted({each.author for each in kernels})
    if len(authors) < 2:
        raise ValueError(f"all kernels are by {authors}: no other kernels choose without them.")
    return [_without(author, choices, kernels, numbers) for author in authors]


def overall_percent(left_out: Sequence[LeftOut], which: str = "without_percent") -> float:
    """Mean absolute error of all kernels, each left out once (or `with_percent`)."""
    return fmean(abs(error) for each in left_out for error in getattr(each, which).values())
