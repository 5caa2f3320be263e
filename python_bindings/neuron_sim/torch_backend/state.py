"""The current device, and initialisation, for `torch.neuron_sim`."""

from __future__ import annotations

import os
import threading
from typing import Any, TypeAlias

import torch

from neuron_sim import _C
from neuron_sim.settings import VENDORS_NAME, device_name
from neuron_sim.torch_backend.vendor_environment import warn_of_inert

_NAME = device_name()

DeviceLike: TypeAlias = torch.device | str | int | None

NO_INDUCTOR = (
    "TorchInductor generates code that runs on the host, and the host cannot address the memory of "
    f"a simulated device; choose another backend, e.g. torch.compile(model, backend='{_NAME}') "
    "or backend='aot_eager'"
)

"""Why TorchInductor cannot be used."""

_initialized = False
_initialization_lock = threading.Lock()


def _is_in_bad_fork() -> bool:
    return _C.is_in_bad_fork()


def is_initialized() -> bool:
    """Whether this process has used the device."""
    return _initialized and not _is_in_bad_fork()


def _lazy_init() -> None:
    """Called by PyTorch before the first use of the device in a process."""
    global _initialized
    if is_initialized():
        return
    with _initialization_lock:
        if is_initialized():
            return
        if _is_in_bad_fork():
            raise RuntimeError(
                f"Cannot re-initialize {_NAME} in forked subprocess. To use {_NAME} with "
                "multiprocessing, you must use the 'spawn' start method"
            )
        if _NAME == VENDORS_NAME:
            warn_of_inert(os.environ)
        _C.initialize()
        _initialized = True


def init() -> None:
    """Initialises the device; happens automatically at first use."""
    _lazy_init()


def device_count() -> int:
    """Number of devices: 2, or the environment variable NEURON_SIM_DEVICES (1 to 16)."""
    return _C.device_count()


def current_device() -> int:
    """Index of this thread's current device."""
    return _C.current_device()


def device_index(device: DeviceLike = None) -> int:
    """The index of a device given as index, name or torch.device; the current one for None."""
    if device is None:
        return current_device()
    if isinstance(device, int):
        if device < 0:
            raise ValueError(f"neuron_sim: device index {device} is negative")
        return _C.checked_device(device)
    place: Any = torch.device(device)
    if place.type != _NAME:
        raise ValueError(f"expected a {_NAME} device, got {place}")
    return current_device() if place.index is None else _C.checked_device(place.index)


def set_device(device: DeviceLike) -> None:
    """Makes `device` this thread's current device."""
    _C.set_device(device_index(device))
