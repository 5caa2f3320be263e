"""neuron_sim: a functional and timing simulator of AWS NeuronCores.

Importing this package imports neither torch nor anything else heavy. PyTorch finds the
device by itself (`torch.ones(3, device="neuron_sim")` needs no import); with
`TORCH_DEVICE_BACKEND_AUTOLOAD=0`, `import neuron_sim.torch_device` registers it.
"""

from importlib import import_module as _import_module
from importlib import util as _util
from importlib.metadata import PackageNotFoundError as _PackageNotFoundError
from importlib.metadata import version as _version
from os import path as _path
from typing import TYPE_CHECKING, Any

from neuron_sim._build import VERSION as __version__
from neuron_sim.layer_report import report
from neuron_sim.run import process as _process
from neuron_sim.sanitizer.checking import Finding, SanitizeError, sanitize
from neuron_sim.terminal.extras import explained as _explained
from neuron_sim.torch_backend import registration as _registration

if TYPE_CHECKING:
    from neuron_sim.nki.check.verdict import check
    from neuron_sim.timeline.hardware import Architecture, Fact, architecture
    from neuron_sim.timeline.timing import TimedKernel, time_kernel, trace
else:

    def __getattr__(name: str) -> Any:
        if name not in _ON_FIRST_USE:
            raise AttributeError(f"module 'neuron_sim' has no attribute '{name}'")
        return getattr(_import_module(_ON_FIRST_USE[name]), name)


__all__ = [
    "Architecture",
    "Fact",
    "Finding",
    "SanitizeError",
    "TimedKernel",
    "__version__",
    "_autoload",
    "architecture",
    "check",
    "cmake_prefix_path",
    "library_path",
    "report",
    "sanitize",
    "time_kernel",
    "trace",
]

_ON_FIRST_USE = {
    "check": "neuron_sim.nki.check.verdict",
    **dict.fromkeys(("Architecture", "Fact", "architecture"), "neuron_sim.timeline.hardware"),
    **dict.fromkeys(("TimedKernel", "time_kernel", "trace"), "neuron_sim.timeline.timing"),
}
"""Modules that import the compiled module, by the names that they give."""


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_FIRST_USE})


def _autoload() -> None:
    """Entry point that PyTorch calls at the end of `import torch`. Under the name `neuron`, scripts
    find the vendor's packages as under `neuron-sim run`."""
    _registration.autoload()
    _process.follow_device_name()


def cmake_prefix_path() -> str:
    """The folder for CMAKE_PREFIX_PATH with which `find_package(neuron_sim)` finds this package.

    FileNotFoundError when the package is not installed.
    """
    package = _compiled_package()
    _installed(package, "share", "cmake", "neuron_sim", "neuron_simConfig.cmake")
    return package


def library_path() -> str:
    """The shared library of the PyTorch backend, which a C++ program links or loads.

    ModuleNotFoundError without torch or neuron_sim_torch, ImportError when that has no library for
    the version of torch.
    """
    with _explained():
        import neuron_sim_torch  # the package works without it

        try:
            version = _version("torch")
        except _PackageNotFoundError:
            raise ModuleNotFoundError("No module named 'torch'", name="torch") from None
    return str(neuron_sim_torch.folder(version) / "libtorch_neuron_sim.so")


def _compiled_package() -> str:
    """The folder of the compiled modules; an editable install keeps them apart from this file."""
    found = _util.find_spec("neuron_sim._core")
    if found is None or found.origin is None:
        raise FileNotFoundError("neuron_sim has no compiled module: install it with pip")
    return _path.dirname(_path.abspath(found.origin))


def _installed(package: str, *parts: str) -> str:
    path = _path.join(package, *parts)
    if not _path.isfile(path):
        raise FileNotFoundError(f"neuron_sim is not installed with pip: there is no {path}")
    return path
