"""Error statistics of simulated against measured numbers.

The error of a case is (simulated - measured) / measured in percent: +10 is 10 % too slow for a
time, and 10 % too fast for a bandwidth.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from neuron_sim.fidelity.measurement import Measurement

POOL = "other"
"""Where families with fewer than SMALLEST_FAMILY cases are counted together."""
SMALLEST_FAMILY = 4
SMALLEST_RANKING = 5
"""Fewest cases of one unit that get a rank correlation."""


@dataclass(frozen=True)
class Pair:
    """A measurement and its simulation, in the same unit."""

    family: str
    measured: float
    simulated: float
    unit: str = "us"

    @property
    def error(self) -> float:
        """Percent of the measured value."""
        return error_percent(self.measured, self.simulated)


@dataclass(frozen=True)
class Statistics:
    """Errors of a group of cases, in percent."""

    cases: int
    mape: float
    """Mean of the absolute errors."""
    median: float
    """Median of the absolute errors."""
    worst: float
    """The error that is furthest from 0, with its sign."""
    bias: float
    """Mean of the errors with their signs."""
    rank_correlation: float | None
    """Spearman's, of the cases of the most frequent unit; None for fewer than five, or no order."""


def error_percent(measured: float, simulated: float) -> float:
    """Error of `simulated` in percent of `measured`, which is not 0."""
    return 100 * (simulated - measured) / measured


def rank_correlation(pairs: Sequence[Pair]) -> float | None:
    """Spearman's rank correlation within the most frequent unit: a time and a rate have no order.

    None when fewer than SMALLEST_RANKING cases have that unit, or one side is constant.
    """
    from scipy.stats import spearmanr  # type: ignore[import-untyped]  # of an extra

    if not pairs:
        return None
    unit, count = Counter(pair.unit for pair in pairs).most_common(1)[0]
    measured = [pair.measured for pair in pairs if pair.unit == unit]
    simulated = [pair.simulated for pair in pairs if pair.unit == unit]
    if count < SMALLEST_RANKING or len(set(measured)) == 1 or len(set(simulated)) == 1:
        return None
    correlation = float(spearmanr(measured, simulated).statistic)
    return None if math.isnan(correlation) else correlation


def summarize(pairs: Iterable[Pair]) -> Statistics | None:
    """Statistics of a group; None for no case."""
    group = list(pairs)
    if not group:
        return None
    errors = [pair.error for pair in group]
    sizes = [abs(error) for error in errors]
    return Statistics(
        cases=len(group),
        mape=fmean(sizes),
        median=median(sizes),
        worst=max(errors, key=abs),
        bias=fmean(errors),
        rank_correlation=rank_correlation(group),
    )


def by_family(pairs: Iterable[Pair]) -> dict[str, Statistics]:
    """Statistics per family, by name; small families are pooled as POOL, which is last."""
    families: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        families[pair.family].append(pair)
    # A family named like the pool belongs to it.
    pool = families.pop(POOL, [])
    result = {}
    for family, group in sorted(families.items()):
        summary = summarize(group)
        if len(group) < SMALLEST_FAMILY or summary is None:
            pool.extend(group)
        else:
            result[family] = summary
    pooled = summarize(pool)
    return result if pooled is None else {**result, POOL: pooled}


@dataclass(frozen=True)
class Noise:
    """Runs of one kernel, by any publisher: no model can be closer than they are."""

    kernel: str
    arch: str
    unit: str
    ids: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def spread(self) -> float:
        """Largest minus smallest value, in percent of the smallest."""
        return 100 * (max(self.values) - min(self.values)) / min(self.values)


def _same_run(one: Measurement, other: Measurement) -> bool:
    """Same kernel, core, operands and method; one text may give more shape details."""
    texts = [(each.family, each.kernel, each.dtype, each.metric) for each in (one, other)]
    longer, shorter = sorted((one.shapes, other.shapes), key=len, reverse=True)
    return (
        texts[0] == texts[1]
        and one.architecture == other.architecture
        and longer.startswith(shorter)
    )


def noise(measurements: Sequence[Measurement]) -> list[Noise]:
    """Groups of a measurement and the repeats of the same kernel, in the order of the repeats."""
    groups: list[list[Measurement]] = []
    for repeat in (each for each in measurements if each.split == "repeat_for_noise"):
        known = next((group for group in groups if _same_run(group[0], repeat)), None)
        if known is None:
            known = [
                each
                for each in measurements
                if each.split != "repeat_for_noise" and _same_run(each, repeat)
            ]
            groups.append(known)
        known.append(repeat)
    return [
        Noise(
            kernel=group[0].kernel,
            arch=group[0].arch,
            unit=group[0].unit,
            ids=tuple(each.id for each in group),
            values=tuple(each.value for each in group),
        )
        for group in groups
        if len(group) > 1 and all(one.unit == two.unit for one, two in itertools.pairwise(group))
    ]
