"""torch.distributed.init_device_mesh("neuron_sim", ...).

It takes a type that is not all letters for one with an index, and the name of this device has
an underscore; DeviceMesh itself takes it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from neuron_sim.after_import import after_import
from neuron_sim.settings import device_name


class _AllLetters(str):
    """A device type that passes for letters."""

    def isalpha(self) -> bool:
        return True


def install() -> None:
    """Makes init_device_mesh take the device's name, now or when torch.distributed is imported."""
    after_import("torch.distributed.device_mesh", _follow)


def _follow(module: ModuleType) -> None:
    generic: Callable[..., Any] = module.init_device_mesh

    def init_device_mesh(device_type: str, *arguments: Any, **options: Any) -> Any:
        if device_type != device_name():
            return generic(device_type, *arguments, **options)
        mesh = generic(_AllLetters(device_type), *arguments, **options)
        mesh._device_type = device_name()  # a plain str, for whoever pickles or compares it
        return mesh

    init_device_mesh.__doc__ = generic.__doc__
    module.init_device_mesh = init_device_mesh  # type: ignore[attr-defined]
    distributed = sys.modules.get("torch.distributed")
    if getattr(distributed, "init_device_mesh", None) is generic:
        distributed.init_device_mesh = init_device_mesh  # type: ignore[union-attr]
