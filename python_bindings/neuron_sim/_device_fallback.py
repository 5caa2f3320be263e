"""Operators that run on the CPU because the device has no kernel for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from neuron_sim import _C  # type: ignore[attr-defined]

FallbackPolicy = Literal["allow", "warn", "error"]


def fallback_counts() -> dict[str, int]:
    """How often each operator ran on the CPU, by name with overload ("aten::add.Tensor")."""
    return _C.fallback_counts()


def reset_fallback_counts() -> None:
    """Forgets the counts (and which operators have been warned about)."""
    _C.reset_fallback_counts()


def fallback_policy() -> FallbackPolicy:
    """The policy of this process; the environment variable NEURON_SIM_FALLBACK sets the first."""
    return _C.fallback_policy()


def set_fallback_policy(policy: FallbackPolicy) -> None:
    """What happens when an operator has no device kernel.

    "allow": it runs on the CPU; "warn": it also warns the first time; "error": NotImplementedError.
    """
    _C.set_fallback_policy(policy)


@contextmanager
def strict() -> Iterator[None]:
    """Inside it an operator without a device kernel raises NotImplementedError.

    A model that runs inside it runs on the device as a whole.
    """
    before = fallback_policy()
    set_fallback_policy("error")
    try:
        yield
    finally:
        set_fallback_policy(before)
