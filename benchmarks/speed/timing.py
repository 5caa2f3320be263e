"""Clocks, repetitions and threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

Work = Callable[[], object]


def seconds(work: Work, calls: int = 1, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of one call. The default clock is the processor time of all threads of this process,
    to which other programs on the machine add little."""
    start = clock()
    for _ in range(calls):
        work()
    return (clock() - start) / calls


def alternate(
    works: Sequence[Work],
    repetitions: int,
    calls: int = 1,
    clock: Callable[[], float] = time.process_time,
) -> list[float]:
    """The minimum seconds of a call of each, in turn, after a turn that is not counted."""
    best = [float("inf")] * len(works)
    for repetition in range(repetitions + 1):
        for number, work in enumerate(works):
            spent = seconds(work, calls, clock)
            if repetition > 0:
                best[number] = min(best[number], spent)
    return best


@contextmanager
def threads(count: int) -> Iterator[None]:
    """torch and the device compute with that many threads; afterwards with as many as before."""
    before = torch.get_num_threads(), torch.neuron_sim.host_threads()
    set_threads(count, count)
    try:
        yield
    finally:
        set_threads(*before)


def set_threads(torchs: int, devices: int) -> None:
    """Sets the threads of torch's CPU operators and of the device."""
    torch.set_num_threads(torchs)
    torch.neuron_sim.set_host_threads(devices)
