"""Sums of spans over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class StepFunction(NamedTuple):
    """`values[i]` from `times[i]` until the next time; it ends with 0."""

    times: np.ndarray
    values: np.ndarray


def step_function(starts: np.ndarray, ends: np.ndarray, heights: np.ndarray) -> StepFunction:
    """The sum of spans, each of which has a height from its start to its end."""
    lasting = ends > starts
    starts, ends, heights = starts[lasting], ends[lasting], heights[lasting]
    times, place = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    changes = np.bincount(place, np.concatenate([heights, -heights]), len(times))
    opened = np.bincount(place, np.repeat([1.0, -1.0], len(starts)), len(times))
    values = np.cumsum(changes)
    values[np.cumsum(opened) == 0] = 0  # no rounding is left over
    return StepFunction(times, values)
