"""Where other libraries choose between the CPU and accelerators that they know by name.

Accelerate reads ACCELERATE_TORCH_DEVICE, and so does the Trainer; `use` sets it. Its choice for
`device_map="auto"`, and every choice of Lightning, is a function without a hook: it is followed by
one of ours, which adds the device after `use`, and warns before.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from neuron_sim.after_import import after_import
from neuron_sim.settings import device_name

# Accelerate's own setting: the device of `Accelerator()`, and of transformers.Trainer.
_ACCELERATE = "ACCELERATE_TORCH_DEVICE"


def use(device: str | None = None) -> None:
    """Accelerate, Trainer and `device_map="auto"` of this process use a device from now on, the
    first one without a name.

    Call it before the first `Accelerator()` or `TrainingArguments`: they choose once per process.
    ValueError unless `device` is a device of this package, RuntimeError if it does not exist.
    """
    import torch  # the command line works without it

    chosen = torch.device(device or f"{device_name()}:0")
    if chosen.type != device_name():
        raise ValueError(
            f"clients.use: 'device' is {device!r}, which is no {device_name()} device."
        )
    index = chosen.index or 0
    count = torch.get_device_module(device_name()).device_count()
    if index >= count:
        raise RuntimeError(
            f"clients.use: device index {index} is out of range; there are {count} devices."
        )
    os.environ[_ACCELERATE] = f"{device_name()}:{index}"


def install() -> None:
    """Follows the choices of the libraries, which need not be installed."""
    after_import("accelerate.state", _follow_default_device)
    after_import("accelerate.utils.modeling", _follow_max_memory)
    for package in ("lightning.fabric", "lightning_fabric"):
        after_import(f"{package}.utilities.device_parser", _follow_lightning)


def _in_use() -> str:
    """The device that `use` or the user chose; empty when none or another kind."""
    chosen = os.environ.get(_ACCELERATE, "")
    return chosen if chosen.partition(":")[0] == device_name() else ""


def _warn(library: str, remedy: str) -> None:
    warnings.warn(
        f"{library} knows no accelerators but its own and chose the CPU; the device "
        f"{device_name()} is used after {remedy}",
        stacklevel=4,
    )


_USE = "`import neuron_sim.clients; neuron_sim.clients.use()` before the first Accelerator"


def _follow_default_device(module: ModuleType) -> None:
    """accelerate.state.PartialState.default_device, asked when ACCELERATE_TORCH_DEVICE is unset."""
    generic = module.PartialState.default_device.fget

    def default_device(self: Any) -> Any:
        chosen = generic(self)
        if chosen.type == "cpu":
            _warn("Accelerate", _USE)
        return chosen

    module.PartialState.default_device = property(default_device, doc=generic.__doc__)


def _follow_max_memory(module: ModuleType) -> None:
    """accelerate.utils.modeling.get_max_memory, from which `device_map="auto"` is made."""
    generic: Callable[..., dict[Any, Any]] = module.get_max_memory

    def get_max_memory(max_memory: dict[Any, Any] | None = None) -> dict[Any, Any]:
        found = generic(max_memory)
        if max_memory is not None or set(found) - {"cpu", "disk"}:
            return found
        if not _in_use():
            _warn('device_map="auto"', _USE)
            return found
        import torch  # imported by Accelerate

        free, _ = torch.get_device_module(device_name()).mem_get_info(_in_use())
        # Accelerate tells accelerators by numbers; torch takes those for devices of its own one.
        return {torch.device(_in_use()).index or 0: free, **found}

    get_max_memory.__doc__ = generic.__doc__
    module.get_max_memory = get_max_memory  # type: ignore[attr-defined]


def _follow_lightning(module: ModuleType) -> None:
    """The choice of Trainer(accelerator="auto")."""
    generic: Callable[[], str] = module._select_auto_accelerator

    def select() -> str:
        chosen = generic()
        if chosen == "cpu":
            _warn(
                "Lightning",
                "`from neuron_sim.clients.lightning import strategy` with "
                "Trainer(strategy=strategy())",
            )
        return chosen

    module._select_auto_accelerator = select  # type: ignore[attr-defined]
