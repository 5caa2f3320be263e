"""How often intervals of simulated times contain the measured time of a kernel left out."""

from __future__ import annotations

from collections.abc import Sequence

from neuron_sim.timeline.interval import MeasuredError, interval


def is_covered(error: MeasuredError, errors: Sequence[MeasuredError]) -> bool:
    """Whether the interval that `errors` give contains the measured time."""
    given = interval(error.kind, errors)
    return given.low <= error.ratio <= given.high


def left_out_coverage(errors: Sequence[MeasuredError]) -> dict[str, tuple[int, int]]:
    """By family: kernels inside of the intervals that the other families give, and all kernels.

    A family is what the interval of an unknown kernel lacks: kernels of the same author and source.
    """
    counts = {}
    for family in sorted({error.family for error in errors}):
        others = [error for error in errors if error.family != family]
        inside = [is_covered(error, others) for error in errors if error.family == family]
        counts[family] = (sum(inside), len(inside))
    return counts
