"""Timing without bytes: `with torch.neuron_sim.timing_only():`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from neuron_sim import _C


def is_timing_only() -> bool:
    """Whether a block of timing_only() is active."""
    return _C.timing_only()


@contextmanager
def timing_only() -> Iterator[None]:
    """Inside it kernels take their simulated time and compute nothing.

    Tensors made inside have sizes, a place in HBM and a share of its capacity, but no bytes and so
    take no host memory: a model far larger than the host's is built under
    `torch.device("neuron_sim")`, or moved from `meta` with `to_empty`, compiled, and timed. Reading
    one of their values (`item()`, `cpu()`, printing) is a RuntimeError, inside and afterwards;
    operators whose results' sizes depend on values are refused. Trip counts and rows that depend on
    data take their upper bounds, and indices are not checked. Tensors from before keep their bytes
    and are not written. Holds for all threads of the process.
    """
    before = is_timing_only()
    _C.set_timing_only(True)
    try:
        yield
    finally:
        _C.set_timing_only(before)
