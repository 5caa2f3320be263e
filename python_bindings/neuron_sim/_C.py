"""Becomes the compiled module of the package neuron_sim_torch that fits the torch installed.

ModuleNotFoundError without torch or that package, ImportError when it serves other versions.
"""

import sys
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any

import neuron_sim_torch

# Torch loads the device's package at the end of its import, which imports this module: whole, as
# it is not in sys.modules meanwhile.
del sys.modules[__name__]
torch = import_module("torch")
if __name__ not in sys.modules:
    _file = neuron_sim_torch.folder(torch.__version__) / f"_C{EXTENSION_SUFFIXES[0]}"
    _spec = spec_from_file_location(__name__, _file)
    assert _spec is not None and _spec.loader is not None
    sys.modules[__name__] = _module = module_from_spec(_spec)
    _spec.loader.exec_module(_module)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
