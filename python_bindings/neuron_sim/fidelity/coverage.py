"""How often intervals of simulated times contain the measured time of a kernel left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from neuron_sim.nki.measurement.interval import MeasuredError, interval


def is_covered(error: MeasuredError, errors: Sequence[MeasuredError]) -> bool:
    """Whether the interval that `errors` give contains the measured time."""
    found = interval(error.kind, errors)
    return found.low <= error.ratio <= found.high


def left_out_coverage(errors: Sequence[MeasuredError]) -> dict[str, tuple[int, int]]:
    """By family: kernels inside of the intervals that the other families give, and all kernels.

    A family is what the interval of an unknown kernel lacks: kernels of the same author and source.
    """
    counts: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for family in sorted({each.family for each in errors}):
        others = [each for each in errors if each.family != family]
        own = [each for each in errors if each.family == family]
        counts[family] = (sum(is_covered(each, others) for each in own), len(own))
    return dict(counts)
