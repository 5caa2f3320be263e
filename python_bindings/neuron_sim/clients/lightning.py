"""Lightning on the device: `Trainer(strategy=strategy())`.

Lightning finds accelerators by name but puts models of those that it does not know on the CPU, so
the recipe names the strategy, which says both.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, NoReturn

import neuron_sim.torch_device  # noqa: F401 - registers the device; says what misses torch

# isort: split
import torch

from neuron_sim.settings import device_name
from neuron_sim.torch_backend import device_module
from neuron_sim.torch_backend.state import DeviceLike, device_index


def _package() -> str:
    """The name of the installed package: `lightning`, or the older `pytorch_lightning`."""
    for name in ("lightning.pytorch", "pytorch_lightning"):
        if importlib.util.find_spec(name.partition(".")[0]):
            return name
    raise ModuleNotFoundError(
        "neuron_sim.clients.lightning needs the package 'lightning', which is not installed.",
        name="lightning",
    )


_lightning = _package()
_accelerators: Any = importlib.import_module(f"{_lightning}.accelerators")
_strategies: Any = importlib.import_module(f"{_lightning}.strategies")
_plugins: Any = importlib.import_module(f"{_lightning}.plugins.precision")


class Accelerator(_accelerators.Accelerator):
    """The device for Lightning: as many devices as `torch.neuron_sim.device_count()`."""

    def setup_device(self, device: torch.device) -> None:
        """Makes the device current. ValueError for a device of another kind."""
        if device.type != device_name():
            _refuse(device)
        device_module.set_device(device)

    def teardown(self) -> None:
        """Returns cached memory to the device."""
        device_module.empty_cache()

    def get_device_stats(self, device: DeviceLike) -> dict[str, Any]:
        """The counters of `torch.neuron_sim.memory_stats`."""
        return device_module.memory_stats(device)

    @staticmethod
    def parse_devices(devices: int | str | list[int]) -> list[int]:
        """The indices that `Trainer(devices=...)` means: a number of them, or a list."""
        if isinstance(devices, list):
            return [device_index(index) for index in devices]
        count = device_module.device_count() if devices in ("auto", -1, "-1") else int(devices)
        return [device_index(index) for index in range(count)]

    @staticmethod
    def get_parallel_devices(devices: list[int]) -> list[torch.device]:
        """The devices with these indices."""
        return [torch.device(device_name(), index) for index in devices]

    @staticmethod
    def auto_device_count() -> int:
        """1: a process trains on one device."""
        return 1

    @staticmethod
    def is_available() -> bool:
        """Always true."""
        return True

    @staticmethod
    def name() -> str:
        """The name in Lightning's registry."""
        return device_name()


def _refuse(device: torch.device) -> NoReturn:
    raise ValueError(
        f"Lightning put the model on {device}: with accelerator='{device_name()}' it takes the "
        "CPU. Use Trainer(strategy=neuron_sim.clients.lightning.strategy())."
    )


def strategy(device: DeviceLike = 0, precision: str = "32-true") -> Any:
    """A strategy for `lightning.Trainer(strategy=...)` that trains on one device.

    `precision` is "32-true", or "bf16-mixed" for torch.autocast of the device; Trainer takes it
    from here.
    """
    if precision not in ("32-true", "bf16-mixed"):
        raise ValueError(
            f"strategy: 'precision' is {precision!r}; there are '32-true' and 'bf16-mixed'."
        )
    mixed = _plugins.MixedPrecision(precision, device_name()) if precision == "bf16-mixed" else None
    return _strategies.SingleDeviceStrategy(
        device=torch.device(device_name(), device_index(device)),
        accelerator=Accelerator(),
        precision_plugin=mixed,
    )


_accelerators.AcceleratorRegistry.register(device_name(), Accelerator, override=True)
