"""The module `torch.neuron_sim`: the counterpart of `torch.cuda` for simulated NeuronCores.

Times are simulated: by the chip's clock, not the host's.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

import torch

from neuron_sim import _C
from neuron_sim.sanitizer.checking import Finding, SanitizeError, sanitize
from neuron_sim.settings import device_name, semantics
from neuron_sim.torch_backend import amp, memory, random
from neuron_sim.torch_backend.distributed import Collective, one_rank_of, record_collectives
from neuron_sim.torch_backend.fallback import (
    Fallback,
    fallback_counts,
    fallback_policy,
    fallbacks,
    host_operators,
    reset_fallback_counts,
    set_fallback_policy,
    strict,
)
from neuron_sim.torch_backend.launches import (
    KernelCacheInfo,
    Launch,
    clear_kernel_cache,
    host_threads,
    kernel_cache_info,
    kernel_cache_limit,
    record_launches,
    set_host_threads,
    set_kernel_cache_limit,
)
from neuron_sim.torch_backend.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from neuron_sim.torch_backend.random import (
    default_generator,
    default_generators,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    random_source,
    seed,
    seed_all,
    set_random_source,
    set_rng_state,
    set_rng_state_all,
)
from neuron_sim.torch_backend.state import (
    DeviceLike,
    _is_in_bad_fork,  # noqa: F401 - PyTorch calls it
    _lazy_init,  # noqa: F401 - PyTorch calls it
    current_device,
    device_count,
    device_index,
    init,
    is_initialized,
    set_device,
)
from neuron_sim.torch_backend.streams import (
    Event,
    Stream,
    StreamContext,
    _sleep,  # noqa: F401 - as in torch.cuda
    current_stream,
    default_stream,
    query,
    record_event,
    set_stream,
    simulated_time,
    stream,
    synchronize,
    wait_event,
    wait_stream,
)
from neuron_sim.torch_backend.tensor_types import DTYPES, tensor_type
from neuron_sim.torch_backend.timing_only import is_timing_only, timing_only
from neuron_sim.torch_compile.compiled_graphs import (
    CompiledGraph,
    compiled_graphs,
    reset_compiled_graphs,
)
from neuron_sim.torch_compile.metrics import get_dynamo_metrics, reset_dynamo_metrics

__all__ = [
    "Collective",
    "CompiledGraph",
    "DeviceProperties",
    "Event",
    "Fallback",
    "Finding",
    "KernelCacheInfo",
    "Launch",
    "SanitizeError",
    "Stream",
    "StreamContext",
    "amp",
    "clear_kernel_cache",
    "compiled_graphs",
    "current_device",
    "current_stream",
    "default_generator",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "fallback_counts",
    "fallback_policy",
    "fallbacks",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_dynamo_metrics",
    "get_rng_state",
    "get_rng_state_all",
    "host_operators",
    "host_threads",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_timing_only",
    "kernel_cache_info",
    "kernel_cache_limit",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "one_rank_of",
    "query",
    "random",
    "random_source",
    "record_collectives",
    "record_event",
    "record_launches",
    "reset_accumulated_memory_stats",
    "reset_compiled_graphs",
    "reset_dynamo_metrics",
    "reset_fallback_counts",
    "reset_peak_memory_stats",
    "sanitize",
    "seed",
    "seed_all",
    "set_device",
    "set_fallback_policy",
    "set_host_threads",
    "set_kernel_cache_limit",
    "set_random_source",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "simulated_time",
    "stream",
    "strict",
    "synchronize",
    "timing_only",
    "wait_event",
    "wait_stream",
]


def is_available() -> bool:
    """Always true: the device needs nothing but this library."""
    return True


class device:
    """Context manager that makes `device` current; None changes nothing."""

    def __init__(self, device: DeviceLike) -> None:
        self.idx = -1 if device is None else device_index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _C.exchange_device(self.idx)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        if self.idx >= 0:
            _C.set_device(self.prev_idx)
        return False


class device_of(device):
    """Context manager that makes the device of `tensor` current; nothing for other tensors."""

    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor.device if tensor.device.type == device_name() else None)


@dataclass(frozen=True)
class DeviceProperties:
    """Properties of a simulated device; bytes per device (memory) or per core (sbuf, psum)."""

    name: str
    architecture: str
    neuron_core: str
    generation: int
    total_memory: int
    partitions: int
    sbuf_bytes: int
    psum_bytes: int
    multi_processor_count: int = 1


def get_device_properties(device: DeviceLike = None) -> DeviceProperties:
    """Properties of a device, read from its architecture file."""
    facts = _C.device_properties(device_index(device))
    name = f"{facts['neuron_core']} ({facts['architecture']}, simulated)"
    return DeviceProperties(name=name, **facts)


def get_device_name(device: DeviceLike = None) -> str:
    """For example "NeuronCore-v3 (trn2, simulated)"; in the vendor's semantics "neuron:0"."""
    if semantics() == "vendor":
        return f"{device_name()}:{device_index(device)}"
    return get_device_properties(device).name


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """(generation, 0): 2, 3 or 4."""
    return get_device_properties(device).generation, 0


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that torch.autocast accepts."""
    return [torch.bfloat16, torch.float16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Always true: bfloat16 is native."""
    del including_emulation
    return True


def __getattr__(name: str) -> Any:
    """PyTorch reads `_initialized`, for example when it recomputes activations with the random
    numbers of the forward pass, and TorchInductor for its code generators, whose import needs
    TorchInductor. The legacy tensor types are made when asked for."""
    if name == "_initialized":
        return is_initialized()
    if name in DTYPES:
        made = globals()[name] = tensor_type(device_name(), name)
        return made
    if name in ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen"):
        from neuron_sim.torch_backend import inductor  # needs TorchInductor

        return getattr(inductor, name)
    raise AttributeError(f"module 'torch.{device_name()}' has no attribute {name!r}")


def _exchange_device(index: int) -> int:
    return _C.exchange_device(index)


def _maybe_exchange_device(index: int) -> int:
    return _C.exchange_device(index) if index >= 0 else -1
