"""Registers the device with PyTorch.

Every import order works: `import torch` first (PyTorch calls `autoload` through its entry point),
`import neuron_sim` first, or `import neuron_sim.torch_device` with or without autoload.
"""

from __future__ import annotations

import atexit
import os
import sys
import types
from importlib.metadata import entry_points
from typing import NoReturn

from neuron_sim.sanitizer import checking
from neuron_sim.settings import OWN_NAME, VENDORS_NAME, device_name, semantics
from neuron_sim.torch_backend import client_choices, vendor_environment
from neuron_sim.torch_backend.exit import settle
from neuron_sim.torch_compile import default_backend

_registered = False


class BackendUnavailableError(AttributeError, RuntimeError):
    """The neuron_sim device could not be registered with PyTorch.

    Also an AttributeError, so that PyTorch's `hasattr` probes of device modules stay harmless.
    """


class NameTakenError(ImportError):
    """The vendor's device is installed, and NEURON_SIM_DEVICE asks for its name."""


class UnavailableDeviceModule(types.ModuleType):
    """Stands in for `torch.neuron_sim` when registration failed: raises the reason on any use."""

    def __init__(self, reason: str) -> None:
        super().__init__("torch.neuron_sim", "The neuron_sim device is not available.")
        self.__dict__["_reason"] = reason

    def __getattr__(self, name: str) -> NoReturn:
        raise BackendUnavailableError(self.__dict__["_reason"])

    def _lazy_init(self) -> NoReturn:
        """PyTorch calls it before it creates a tensor on the device."""
        raise BackendUnavailableError(self.__dict__["_reason"])

    # PyTorch calls these on every device module, also for programs that never use this device.
    @staticmethod
    def is_available() -> bool:
        return False

    @staticmethod
    def device_count() -> int:
        return 0

    @staticmethod
    def _is_in_bad_fork() -> bool:
        return False

    @staticmethod
    def manual_seed_all(seed: int) -> None:
        del seed


def autoload() -> None:
    """Entry point that PyTorch calls at the end of `import torch`.

    Never raises, because that would make `import torch` fail for everybody; instead leaves a
    `torch.neuron_sim` that raises the reason when it is used.
    """
    try:
        register()
    except Exception as error:
        _leave_reason(error)


def register() -> None:
    """Registers device, methods and module with PyTorch; does nothing the second time.

    Raises ImportError when neuron_sim_torch is missing or does not serve this PyTorch, ValueError
    for a name or semantics that does not exist.
    """
    global _registered
    import torch  # may run all of this through the entry point before it returns

    if _registered:
        return
    name = device_name()
    _check_name_is_free(name)
    if name == VENDORS_NAME:
        vendor_environment.apply(os.environ)
    from neuron_sim import _C  # needs torch
    from neuron_sim.torch_backend import (  # these need the library, which is loaded now
        attention_sharding,
        device_module,
        distributed,
        dynamo_import,
        mesh,
        metric_tables,
        other_name,
        printing,
        sharing,
    )

    # The C++ library has set the name already; this adds the aliases that Python knows.
    semantics()  # ValueError for one that does not exist
    if name == VENDORS_NAME:
        _C.set_launch_blocking(os.environ.get("NEURON_LAUNCH_BLOCKING") == "1")
        metric_tables.install(os.environ)
    torch.utils.rename_privateuse1_backend(name)
    _replace_device_module(name, device_module)
    atexit.register(settle)
    if not hasattr(torch.Tensor, f"is_{name}"):
        torch.utils.generate_methods_for_privateuse1_backend(
            for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
        )
    distributed.register_backend()
    sharing.install()
    printing.install()
    dynamo_import.install()
    mesh.install()
    attention_sharding.install()
    other_name.install()
    default_backend.install()
    client_choices.install()
    _registered = True
    checking.watch_process()


def _check_name_is_free(name: str) -> None:
    """NameTakenError rather than two devices that fight for a name, whichever comes first."""
    points = entry_points(group="torch.backends")
    if name == VENDORS_NAME and any(point.value.startswith("torch_neuronx") for point in points):
        raise NameTakenError(
            f"NEURON_SIM_DEVICE is {name}, but the vendor's torch_neuronx, whose device has "
            f"this name, is installed: set it to {OWN_NAME}, or uninstall torch_neuronx"
        )


def _replace_device_module(name: str, module: types.ModuleType) -> None:
    """Makes `module` torch.neuron_sim and, under another name of the device, that attribute too."""
    import torch  # the package works without it

    for attribute in {name, OWN_NAME}:
        if hasattr(torch, attribute):  # the stand-in of an earlier failure
            delattr(torch, attribute)
            sys.modules.pop(f"torch.{attribute}", None)
    torch._register_device_module(name, module)
    torch.neuron_sim = sys.modules["torch.neuron_sim"] = module


def _leave_reason(error: BaseException) -> None:
    reason = f"the neuron_sim device is not available: {type(error).__name__}: {error}"
    module = UnavailableDeviceModule(reason)
    try:
        import torch  # the package works without it

        if isinstance(error, NameTakenError):
            torch.neuron_sim = sys.modules["torch.neuron_sim"] = module
            return
        is_named = "neuron_sim._C" in sys.modules  # by the library
        name = torch._C._get_privateuse1_backend_name() if is_named else OWN_NAME
        torch.utils.rename_privateuse1_backend(name)
        _replace_device_module(name, module)
    except Exception:  # e.g. another backend has taken PrivateUse1
        sys.modules["torch.neuron_sim"] = module
