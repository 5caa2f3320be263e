"""Registers the device with TorchDynamo when TorchDynamo is imported, which takes seconds and which
most programs never do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_INTERFACES = "torch._dynamo.device_interface"


def install() -> None:
    """Registers the device now if TorchDynamo has been imported, else as soon as it is."""
    if _INTERFACES in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _Finder())


def _register() -> None:
    from neuron_sim import _device_dynamo  # needs torch._dynamo

    _device_dynamo.register()


class _Finder(MetaPathFinder):
    """Finds TorchDynamo's module of interfaces where Python does, and registers the device after
    the module has run."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _INTERFACES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_and_register(module: ModuleType) -> None:
            run(module)
            sys.meta_path.remove(self)
            _register()

        spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec
