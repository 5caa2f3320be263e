"""Timing without computing: kernels are traced, checked and timed, their outputs stay untouched."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

from neuron_sim import _core

VARIABLE = "NEURON_SIM_TIMING_ONLY"
"""`1` times every kernel of the process without computing it."""

_active: contextvars.ContextVar[bool | None] = contextvars.ContextVar("timing_only", default=None)


def is_timing_only() -> bool:
    """Whether kernels are timed without being computed: the innermost `timing_only()`, else
    the environment."""
    active = _active.get()
    return _core.setting(VARIABLE) == "1" if active is None else active


@contextlib.contextmanager
def timing_only(active: bool = True) -> Iterator[None]:
    """Inside, kernels are timed without being computed (or computed, with `active=False`).

    Arrays that a kernel returns have the contents of fresh memory: NaN, and 4 for integers.
    """
    token = _active.set(active)
    try:
        yield
    finally:
        _active.reset(token)
