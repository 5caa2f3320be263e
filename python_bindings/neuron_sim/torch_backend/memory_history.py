"""Snapshots of the devices' memory, with the names and the form of torch.cuda.memory."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any, Literal

from neuron_sim import _C
from neuron_sim.files import write_whole
from neuron_sim.torch_backend.state import DeviceLike, device_count, device_index

_ENABLED = (None, "state", "all")
_CONTEXTS = (None, "state", "alloc", "all")
_STACKS = ("python", "all")


def _record_memory_history(
    enabled: Literal["state", "all"] | None = "all",
    context: Literal["state", "alloc", "all"] | None = "all",
    stacks: Literal["python", "all"] = "all",
    max_entries: int = sys.maxsize,
    device: DeviceLike = None,
    clear_history: bool = False,
) -> None:
    """Keeps what _snapshot() shows from now on, as torch.cuda.memory._record_memory_history does.

    enabled: "all" keeps every allocation and free with the stack that made it, "state" only the
    stacks of blocks in use, None stops. context: None keeps no stacks, "state" and "alloc" those of
    allocations, "all" those of frees too. stacks: frames are Python's with both values, because
    those of C++ are the simulator's own. max_entries: the last events that a device keeps. device:
    one device; None is all of them. ValueError for anything else.
    """
    for name, value, allowed in (
        ("enabled", enabled, _ENABLED),
        ("context", context, _CONTEXTS),
        ("stacks", stacks, _STACKS),
    ):
        if value not in allowed:
            listed = ", ".join(map(repr, allowed))
            raise ValueError(f"_record_memory_history: '{name}' is {value!r}, not one of {listed}.")
    if max_entries < 1:
        raise ValueError(f"_record_memory_history: 'max_entries' is {max_entries}, below 1.")
    if clear_history:
        _C.clear_memory_history()
    devices = range(device_count()) if device is None else [device_index(device)]
    _C.record_memory_history(
        list(devices) if enabled is not None else [],
        enabled == "all",
        context is not None,
        context == "all",
        max_entries,
    )


def _snapshot(device: DeviceLike = None) -> dict[str, Any]:
    """The memory of all devices (or one) and its history, as torch.cuda.memory._snapshot gives it:
    `segments` with their `blocks`, and `device_traces`, the events of each device by index.

    `time_us` is simulated time. Frames and events are there since _record_memory_history().
    """
    snapshot = _C.memory_snapshot()
    if device is not None:
        index = device_index(device)
        snapshot["segments"] = [each for each in snapshot["segments"] if each["device"] == index]
        for other, events in enumerate(snapshot["device_traces"]):
            if other != index:
                events.clear()
    return snapshot


def _dump_snapshot(filename: str = "dump_snapshot.pickle") -> None:
    """Writes _snapshot() to a file for https://pytorch.org/memory_viz. OSError."""
    write_whole(Path(filename), pickle.dumps(_snapshot()))


def memory_snapshot() -> list[dict[str, Any]]:
    """The segments of all devices with their blocks, as torch.cuda.memory_snapshot() gives them."""
    return _C.memory_snapshot()["segments"]
