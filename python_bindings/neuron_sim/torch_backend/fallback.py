"""Operators that run on the CPU because the device has no kernel for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from neuron_sim import _C

FallbackPolicy = Literal["allow", "warn", "error"]


@dataclass(frozen=True)
class Fallback:
    """The uses of one operator that ran on the CPU for one reason."""

    op: str
    """With overload, e.g. "aten::add.Tensor"."""
    count: int
    reason: str
    """Why the device did not run it, e.g. "it has no device kernel"."""
    bytes_moved: int
    """Over the host link, both directions."""


def fallbacks() -> list[Fallback]:
    """The operators that ran on the CPU, by name and reason."""
    return [Fallback(*facts) for facts in _C.fallbacks()]


def fallback_counts() -> dict[str, int]:
    """How often each operator ran on the CPU, for whatever reason."""
    counts: dict[str, int] = {}
    for fallback in fallbacks():
        counts[fallback.op] = counts.get(fallback.op, 0) + fallback.count
    return counts


def host_operators() -> dict[str, int]:
    """How often each operator ran on the host side of the simulator.

    Operators that compute int64 indices or scalars only (a NeuronCore has no 64-bit integers), or
    draw random numbers while random_source() is "host". They are not fallbacks and run in strict
    mode; they take no simulated time, except for random numbers crossing the host link.
    """
    return _C.host_operators()


def reset_fallback_counts() -> None:
    """Clears fallbacks, host operators and the record of warnings given."""
    _C.reset_fallbacks()


def fallback_policy() -> FallbackPolicy:
    """The policy of this process.

    At first "error" with the environment variable NEURON_SIM_STRICT=1, else the value of
    NEURON_SIM_FALLBACK, else "warn".
    """
    return _C.fallback_policy()


def set_fallback_policy(policy: FallbackPolicy) -> None:
    """Sets what happens when an operator has no device kernel.

    "allow": it runs on the CPU; "warn": it also warns (UserWarning), once per operator and process;
    "error": NotImplementedError.
    """
    _C.set_fallback_policy(policy)


@contextmanager
def strict() -> Iterator[None]:
    """Inside it an operator that would run on the CPU raises NotImplementedError with the reason.

    A model that runs inside it runs entirely on the device, except for host_operators().
    NEURON_SIM_STRICT=1 does the same for a whole program. Holds for all threads of the process.
    """
    before = fallback_policy()
    set_fallback_policy("error")
    try:
        yield
    finally:
        set_fallback_policy(before)
