"""Eager execution: the instructions of a kernel run as they are traced.

`print(tile)`, `tile.numpy()` and a debugger then show values. Loops run as Python loops. Results
and errors equal those of a normal run; nothing is timed.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from neuron_sim import _core, settings
from neuron_sim.sanitizer import checking

from ..tracing.eager import refusal
from .arrays import as_bytes, host_bytes
from .traced_kernel import is_timing_only, torch_of

if TYPE_CHECKING:
    from .calls import Call

_active: contextvars.ContextVar[bool | None] = contextvars.ContextVar("eager", default=None)

_OF_WHOLE_PROGRAMS = (
    settings.PROFILE,
    settings.TIMELINE,
    settings.ADVICE,
    settings.DUMP,
    settings.EXPLAIN_MEMORY,
)
"""Settings that need the program that the compiler makes of a kernel."""


def is_wanted() -> bool:
    """Whether kernels run eagerly: the innermost `eagerly()`, else the environment."""
    active = _active.get()
    return _core.setting(settings.EAGER) == "1" if active is None else active


@contextlib.contextmanager
def eagerly(active: bool = True) -> Iterator[None]:
    """Inside, kernels run eagerly (or as usual, with `active=False`)."""
    token = _active.set(active)
    try:
        yield
    finally:
        _active.reset(token)


def reader_of_programs() -> str:
    """What looks at programs of kernels besides running them, a clause; empty when nothing does."""
    if checking.active() is not None:
        return "runs under the sanitizer"
    found = [each for each in _OF_WHOLE_PROGRAMS if _core.setting(each)]
    return f"runs with {found[0]} set" if found else ""


def run_call(call: Call) -> Any:
    """What the kernel returns for the arrays of a call, eagerly where that is wanted.

    ValueError where eager execution is wanted but cannot be: several cores or ranks, tensors of a
    device, a schedule, registers, and settings that look at whole programs.
    """
    if is_timing_only() or (kind := _kind(call)) == "meta":
        return call.trace().run(call.arrays)
    if not is_wanted():
        # With what it prints at once, where it can be: its own side effects happen once.
        prints = kind == "host" and not reader_of_programs()
        return call.trace(prints).run(call.arrays)
    _check(call)
    traced = call.trace_anew(
        arrays=[host_bytes(*each) for each in zip(call.arrays, call.inputs, strict=True)]
    )
    prepared = traced.prepared(call.arrays)
    assert traced.contents is not None
    for target, source in zip(prepared.bytes, traced.contents, strict=True):
        target[...] = as_bytes(source)
    return prepared.results()


def check_whole(kernel: str, why: str) -> None:
    """ValueError where eager execution is wanted for a kernel that runs as a whole program only;
    `why` continues its name."""
    if is_wanted() and not is_timing_only():
        raise refusal(kernel, why)


def _kind(call: Call) -> str:
    """ "host", "meta" or a device: where the arrays are."""
    if torch_of(call.arrays) is None:
        return "host"
    from . import torch_tensors  # needs torch

    return torch_tensors.kind_of(call.name, call.arrays, call.inputs)


def _check(call: Call) -> None:
    if _kind(call) != "host":
        raise refusal(call.name, "takes tensors of a simulated device")
    if call.cores > 1:
        raise refusal(call.name, f"runs on {call.cores} cores")
    if call.schedule:
        raise refusal(call.name, "has a schedule")
    if reader := reader_of_programs():
        raise refusal(call.name, reader)
