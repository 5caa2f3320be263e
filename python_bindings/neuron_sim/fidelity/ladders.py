"""Pairs of kernels for the same work: does the simulator put the faster one first?"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from neuron_sim.fidelity.evaluate import Evaluated
from neuron_sim.fidelity.measurement import Measurement

DISTANCE = 0.05
"""Share of the smaller measured number by which the numbers of a pair differ at least."""


@dataclass(frozen=True)
class Ladder:
    """The pairs that were measured apart, and those of them whose simulated numbers are not in
    the measured order."""

    pairs: int
    reversed: tuple[tuple[str, str], ...]
    """Identifiers; the first one was measured lower."""


def _work(measurement: Measurement) -> Hashable:
    """What the kernels of a ladder have in common; the steps of a search have texts of their
    own for shapes, and its problem in their identifiers."""
    steps = measurement.id.rpartition("-")[0] if "step" in measurement.kernel else ""
    return (
        measurement.author,
        measurement.family,
        measurement.architecture,
        steps or (measurement.shapes, measurement.dtype),
        measurement.metric,
        measurement.unit,
    )


def ladder(evaluated: Sequence[Evaluated], stack: str = "published") -> Ladder:
    """The pairs of one author's kernels with the same operands and metric."""
    groups: dict[Hashable, list[tuple[float, float, str]]] = defaultdict(list)
    for each in evaluated:
        simulated = each.simulated[stack]
        if simulated is not None:
            measured = each.measurement
            groups[_work(measured)].append((measured.value, simulated, measured.id))
    pairs, wrong = 0, []
    for group in groups.values():
        for low, high in itertools.combinations(sorted(group), 2):
            if high[0] <= (1 + DISTANCE) * low[0]:
                continue
            pairs += 1
            if low[1] >= high[1]:
                wrong.append((low[2], high[2]))
    return Ladder(pairs, tuple(wrong))
