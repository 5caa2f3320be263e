"""torch_xla.core.xla_model: the device, the end of steps, training with several processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from neuron_sim import _C
from neuron_sim.run.torch_xla.core.collectives import (
    REDUCE_AND,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_MUL,
    REDUCE_OR,
    REDUCE_SUM,
    all_gather,
    all_reduce,
    all_to_all,
    broadcast_master_param,
    collective_broadcast,
    mesh_reduce,
    reduce_scatter,
    rendezvous,
)
from neuron_sim.run.torch_xla.core.device_type import here
from neuron_sim.run.torch_xla.runtime import (
    device_type,
    global_ordinal,
    local_ordinal,
    world_size,
)
from neuron_sim.settings import device_name, semantics
from neuron_sim.torch_backend import memory, random

__all__ = [
    "REDUCE_AND",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "REDUCE_MUL",
    "REDUCE_OR",
    "REDUCE_SUM",
    "add_step_closure",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "broadcast_master_param",
    "collective_broadcast",
    "get_local_ordinal",
    "get_memory_info",
    "get_ordinal",
    "get_rng_state",
    "get_xla_supported_devices",
    "is_master_ordinal",
    "is_xla_tensor",
    "mark_step",
    "master_print",
    "mesh_reduce",
    "optimizer_step",
    "reduce_gradients",
    "reduce_scatter",
    "rendezvous",
    "save",
    "send_cpu_data_to_device",
    "set_rng_state",
    "wait_device_ops",
    "xla_device",
    "xla_device_hw",
    "xrt_world_size",
]

get_ordinal = global_ordinal
get_local_ordinal = local_ordinal

_closures: list[Callable[[], Any]] = []


def xla_device(n: int | None = None, devkind: str | None = None) -> torch.device:
    """The simulated device with index `n`; the current one without."""
    return here(n)


def xla_device_hw(device: str | torch.device) -> str:
    """NEURON, or CPU for the CPU."""
    return "CPU" if torch.device(device).type == "cpu" else device_type()


def get_xla_supported_devices(
    devkind: str | None = None, max_devices: int | None = None
) -> list[str]:
    """The devices of this process: "xla:0", "xla:1" and so on."""
    return [f"xla:{index}" for index in range(_C.device_count())][:max_devices]


def is_xla_tensor(tensor: torch.Tensor) -> bool:
    """Whether a tensor is on the device."""
    return tensor.device.type == device_name()


def xrt_world_size(defval: int = 1) -> int:
    """The number of processes."""
    return world_size()


def is_master_ordinal(local: bool = True) -> bool:
    """Whether this process is the first of its host, or of all."""
    return (get_local_ordinal() if local else get_ordinal()) == 0


def master_print(*args: Any, fd: Any = None, local: bool = False, flush: bool = False) -> None:
    """print() in the first process only."""
    if is_master_ordinal(local=local):
        print(*args, file=fd or sys.stdout, flush=flush)


def mark_step(wait: bool = False, reset_scope: bool = True) -> None:
    """The end of a step: step closures run. Operators are launched already; `wait` waits for them
    in simulated time."""
    if wait:
        wait_device_ops()
    while _closures:
        _closures.pop(0)()


def wait_device_ops(devices: Sequence[str] = ()) -> None:
    """Waits, in simulated time, for everything on these devices; on all without."""
    indices = [torch.device(device).index or 0 for device in devices]
    for index in indices or range(_C.device_count()):
        _C.synchronize(index)


def add_step_closure(
    closure: Callable[..., Any], args: Sequence[Any] = (), run_async: bool = False
) -> None:
    """Calls `closure(*args)` at the end of the step."""
    _closures.append(lambda: closure(*args))


def reduce_gradients(
    optimizer: torch.optim.Optimizer, groups: Any = None, pin_layout: bool = True
) -> None:
    """Averages the gradients of the optimizer's parameters over all processes."""
    count = world_size()
    if count > 1:
        parameters = [value for group in optimizer.param_groups for value in group["params"]]
        gradients = [value.grad for value in parameters if value.grad is not None]
        all_reduce(REDUCE_SUM, gradients, scale=1.0 / count, groups=groups)


def optimizer_step(
    optimizer: torch.optim.Optimizer,
    barrier: bool = False,
    optimizer_args: Mapping[str, Any] | None = None,
    groups: Any = None,
    pin_layout: bool = True,
) -> Any:
    """Averages the gradients over all processes and takes a step; returns what the step returns.

    `barrier` also ends the step.
    """
    reduce_gradients(optimizer, groups)
    loss = optimizer.step(**(optimizer_args or {}))
    if barrier:
        mark_step()
    return loss


def _maybe_convert_to_cpu(data: Any, convert: bool = True) -> Any:
    """`data` with its tensors copied to the CPU; scripts call it by this name."""
    if not convert:
        return data
    return pytree.tree_map_only(torch.Tensor, lambda value: value.detach().cpu(), data)


def save(
    data: Any, file_or_path: Any, master_only: bool = True, global_master: bool = False
) -> None:
    """torch.save of CPU copies, in the first process (of each host, or of all); all wait for it."""
    if not master_only or is_master_ordinal(local=not global_master):
        torch.save(_maybe_convert_to_cpu(data), file_or_path)
    rendezvous("torch_xla.core.xla_model.save")


def send_cpu_data_to_device(
    datas: Iterable[Any], device: str | torch.device, input_sharding: Any = None
) -> list[Any]:
    """The data with its tensors on the device. NotImplementedError for `input_sharding`."""
    if input_sharding is not None:
        raise NotImplementedError("torch_xla: input_sharding is not simulated; SPMD is missing")
    return pytree.tree_map_only(torch.Tensor, lambda value: value.to(device), list(datas))


def set_rng_state(seed: int, device: Any = None) -> None:
    """Seeds the random numbers of the current device."""
    _generator().manual_seed(seed)


def get_rng_state(device: Any = None) -> int:
    """The seed of the current device."""
    return _generator().initial_seed()


def _generator() -> torch.Generator:
    """The one that the device draws from: with the vendor's semantics it is the CPU's."""
    return torch.default_generator if semantics() == "vendor" else random.default_generator()


def get_memory_info(device: str | torch.device | None = None) -> dict[str, int]:
    """Bytes in use and bytes of the device's memory."""
    free, total = memory.mem_get_info()
    return {"bytes_used": total - free, "bytes_limit": total}
