"""Eager execution: the instructions of a kernel run as they are traced.

`print(tile)`, `tile.numpy()` and a debugger then show values. Loops run as Python loops. Results
and errors equal those of a normal run; nothing is timed.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from neuron_sim import _core, settings
from neuron_sim.sanitizer import checking

from ..tracing.dtypes import WIDENED
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


class EagerRun:
    """The run that follows a trace. `arrays`: contents of its first arguments, changed in place."""

    def __init__(self, trace: Any, arrays: list):
        self._trace = trace
        self._arrays = arrays
        self._run = _core.EagerRun(trace._builder)
        for number, array in enumerate(arrays):
            # As integers: bf16 and fp8 have no name there.
            self._run.bind(number, array.view(f"u{array.itemsize}"))

    def contents(self) -> list:
        """An array per argument of the kernel."""
        others = self._trace.arguments[len(self._arrays) :]
        return self._arrays + [
            self._bytes(each).view(each.dtype.numpy).reshape(each.shape) for each in others
        ]

    def values(self, tensor: Any) -> np.ndarray:
        """A copy of a tensor's elements. ValueError for one whose address is read on chip."""
        tensor = tensor.settle()
        if any(each is not None for each in (tensor.index, tensor.register, tensor.dynamic)):
            raise ValueError(f"the elements of `{tensor.name}` are chosen by an index on chip.")
        if tensor.storage.whole is None:
            return self._of_blocks(tensor)
        elements = self._elements(tensor.storage, tensor.dtype)
        rows, free = int(tensor.partition), np.full(tensor.shape, int(tensor.start))
        for axis, place in enumerate(np.indices(tensor.shape, sparse=True)):
            if axis == tensor.axis:
                rows = rows + place * tensor.steps[axis]
            else:
                free += place * tensor.steps[axis]
        found = elements.reshape(-1)[free] if tensor.axis is None else elements[rows, free]
        return found.astype(tensor.dtype.numpy, copy=False)

    def _of_blocks(self, tensor: Any) -> np.ndarray:
        """Tiles that lie apart."""
        if tensor.axis == 0:
            raise ValueError(f"tile `{tensor.name}` without a free dimension has no memory.")
        return np.stack([self.values(tensor[block]) for block in range(tensor.shape[0])])

    def _elements(self, storage: Any, dtype: Any) -> np.ndarray:
        """[partitions, elements] of a tile, or those of an HBM tensor."""
        declared = storage.argument is not None or (
            storage.memory == "hbm" and storage.ordinal is None
        )
        is_wide = self._trace.widens and storage.dtype in WIDENED and not declared
        elements = self._bytes(storage).view(np.float32 if is_wide else dtype.numpy)
        return elements if storage.memory == "hbm" else elements.reshape(storage.whole.shape[0], -1)

    def _bytes(self, storage: Any) -> np.ndarray:
        return np.frombuffer(bytearray(self._run.contents(storage.whole)), np.uint8)
