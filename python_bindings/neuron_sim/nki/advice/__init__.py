"""Changes that would make a traced kernel faster: each is made, in its program or in its source,
and timed (`neuron_sim.timeline.changes`)."""

from __future__ import annotations

import itertools
from typing import Any

from neuron_sim.timeline.changes import Change, changes_of

from .constants import constant_trials
from .dtypes import dtype_trials
from .engines import engine_trials
from .layouts import layout_trials
from .passes import load_trials, pass_trials
from .rows import row_trials


def kernel_changes(kernel: Any) -> list[Change]:
    """Changes of a TracedKernel, most useful first; none where data decides how often loops run."""
    if kernel.source.has_dynamic_loops:
        return []
    kinds = (pass_trials, constant_trials, engine_trials, load_trials, layout_trials, row_trials,
             dtype_trials)  # fmt: skip
    return changes_of(kernel.program, itertools.chain.from_iterable(kind(kernel) for kind in kinds))
