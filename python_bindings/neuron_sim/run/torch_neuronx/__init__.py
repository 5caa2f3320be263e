"""Stands in for torch_neuronx where it is missing: TorchNeuron's names on the simulated device.

Importing it registers the device. `nki_jit` is `neuronxcc.nki.jit`, `nki_op` and `wrap_nki` are
from `neuron_sim.nki.torch`; the functions of the device are those of `torch.neuron_sim`.
"""

from contextlib import suppress as _suppress
from importlib import import_module as _import_module
from typing import Any

from torch import __version__ as _torch_version

from neuron_sim._build import VERSION as _VERSION
from neuron_sim.neuronxcc.nki import jit as nki_jit
from neuron_sim.torch_backend import registration as _registration

__all__ = ["nki_jit"]

__version__ = f"{_torch_version.split('+')[0]}+neuron.sim.{_VERSION}"
"""TorchNeuron has the version of its PyTorch; what follows tells this package."""

_PROFILING = "neuron_sim.run.torch_neuronx.profiling"
_TRACKING = "neuron_sim.run.torch_neuronx.operator_tracking"
_DEVICE = "neuron_sim.torch_backend.device_module"
_HOMES = {
    **dict.fromkeys(("nki_op", "wrap_nki"), "neuron_sim.nki.torch"),
    **dict.fromkeys(("clear_op_tracking", "get_executed_ops", "get_fallback_ops"), _TRACKING),
    "NeuronProfiler": _PROFILING,
    **dict.fromkeys(
        (
            "async_load", "dynamic_batch", "lazy_load", "move_trace_to_device", "replace_weights",
            "trace",
        ),
        "neuron_sim.run.torch_neuronx.tracing",
    ),
    "DataParallel": "neuron_sim.run.torch_neuronx.xla_impl.data_parallel",
    **dict.fromkeys(
        (
            "Event", "Stream", "StreamContext", "_lazy_init", "current_device", "current_stream",
            "default_stream", "device", "device_count", "empty_cache", "get_device_properties",
            "get_dynamo_metrics", "max_memory_allocated", "max_memory_reserved",
            "memory_allocated", "memory_reserved", "memory_stats", "memory_summary",
            "reset_accumulated_memory_stats", "reset_dynamo_metrics", "reset_peak_memory_stats",
            "set_device", "set_stream", "stream", "synchronize",
        ),
        _DEVICE,
    ),
}  # fmt: skip
"""The modules of the names that need torch; each is imported when a name of it is asked for."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(_import_module(_HOMES[name]), name)
    if name == "is_neuron_runtime_initialized":
        return _import_module(_DEVICE).is_initialized
    if name in (
        "distributed",
        "experimental",
        "memory",
        "neuron",
        "neuron_dynamo_backend",
        "nki_hop",
        "profiling",
        "streams",
        "utils",
        "xla_impl",
    ):
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"torch_neuronx.{name} is not there: under `neuron-sim run` torch_neuronx has the names "
        "that TorchNeuron documents."
    )


_registration.autoload()
with _suppress(ImportError):  # without torch there is no module to load
    _import_module("neuron_sim.run.torch_neuronx.xla_impl.traced_operator")
if _registration._registered:
    for _name in (_PROFILING, _TRACKING):
        _import_module(_name)  # they hear of profiles and launches from now on
