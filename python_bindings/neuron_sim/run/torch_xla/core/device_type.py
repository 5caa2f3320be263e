"""PyTorch's device type "xla" in a process with the stand-in for torch_xla: the simulated device.

Factory functions and `to` take it through the dispatcher (csrc/registration/xla_device.h); the
places where PyTorch compares names are patched here.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from neuron_sim import _C
from neuron_sim.settings import device_name

XLA = "xla"


@functools.cache
def install() -> None:
    """Makes "xla" name the device in factories, `to`, torch.autocast and torch.load."""
    _C.register_xla_device()
    original = torch.autocast.__init__

    @functools.wraps(original)
    def autocast(self: Any, device_type: str, *rest: Any, **options: Any) -> None:
        if device_type == XLA:
            device_type = device_name()
            if not rest:
                options.setdefault("dtype", torch.bfloat16)  # as for PyTorch's own xla
        original(self, device_type, *rest, **options)

    torch.autocast.__init__ = autocast
    torch.serialization.register_package(priority=30, tagger=_no_tag, deserializer=_restore)


def here(index: int | None = None) -> torch.device:
    """The device with this index; the current one without."""
    return torch.device(device_name(), _C.checked_device(-1 if index is None else index))


def _no_tag(storage: Any) -> None:
    return None  # storages of the device have its own name


def _restore(storage: Any, location: str) -> Any:
    if location.partition(":")[0] != XLA:
        return None
    device = here(torch.device(location).index)
    return torch.serialization.default_restore_location(storage, str(device))
