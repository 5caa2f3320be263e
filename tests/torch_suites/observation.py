"""What a run on the device did: programs, fallbacks, host-side operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import torch


@dataclass
class Activity:
    """What happened on the device."""

    programs: int = 0
    fallbacks: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By operator and reason."""
    host_operators: Counter[str] = field(default_factory=Counter)

    def add(self, other: Activity) -> None:
        self.programs += other.programs
        self.fallbacks += other.fallbacks
        self.host_operators += other.host_operators


def _launches() -> int:
    info = torch.neuron_sim.kernel_cache_info()
    return info.hits + info.misses


@contextmanager
def observe(activity: Activity, strict: bool = False) -> Iterator[None]:
    """Adds what happens in the block to `activity`; inside it a fallback raises if `strict`."""
    module = torch.neuron_sim
    module.reset_fallback_counts()
    before = _launches()
    try:
        with ExitStack() as modes:
            if strict:
                modes.enter_context(module.strict())
            yield
    finally:
        activity.programs += _launches() - before
        for fallback in module.fallbacks():
            activity.fallbacks[(fallback.op, fallback.reason)] += fallback.count
        for op, count in module.host_operators().items():
            activity.host_operators[op] += count
