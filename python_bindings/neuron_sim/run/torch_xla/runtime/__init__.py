"""torch_xla.runtime: processes and devices. One process per NeuronCore, as torch.distributed counts
them; before a process group exists, as the environment of torchrun says."""

from __future__ import annotations

import os

import torch.distributed as distributed

from neuron_sim import _C

__all__ = [
    "addressable_device_count",
    "device_type",
    "get_master_ip",
    "global_device_count",
    "global_ordinal",
    "global_runtime_device_count",
    "initialize_cache",
    "is_spmd",
    "local_device_count",
    "local_ordinal",
    "local_process_count",
    "process_count",
    "process_index",
    "use_spmd",
    "using_pjrt",
    "world_size",
]


def device_type() -> str:
    """The kind of device: NEURON."""
    return "NEURON"


def using_pjrt() -> bool:
    """True: scripts of older releases ask."""
    return True


def world_size() -> int:
    """The number of processes."""
    if distributed.is_initialized():
        return distributed.get_world_size()
    return int(os.environ.get("WORLD_SIZE", 1))


def global_ordinal() -> int:
    """The number of this process."""
    if distributed.is_initialized():
        return distributed.get_rank()
    return int(os.environ.get("RANK", 0))


def local_ordinal() -> int:
    """The number of this process on its host."""
    return int(os.environ.get("LOCAL_RANK", global_ordinal()))


def local_process_count() -> int:
    """The number of processes on this host."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", world_size()))


def addressable_device_count() -> int:
    """The number of devices of this process."""
    return _C.device_count()


local_device_count = addressable_device_count
process_count = world_size
process_index = global_ordinal
global_device_count = world_size
global_runtime_device_count = world_size


def get_master_ip() -> str:
    """The address of the process that all others meet at."""
    return os.environ.get("MASTER_ADDR", "localhost")


def is_spmd() -> bool:
    """False."""
    return False


def use_spmd(auto: bool = False) -> None:
    """NotImplementedError: every process has the operators of its own device."""
    raise NotImplementedError("torch_xla.runtime.use_spmd: SPMD is not simulated")


def initialize_cache(path: str, readonly: bool = False) -> None:
    """No effect: nothing is compiled between two steps."""
