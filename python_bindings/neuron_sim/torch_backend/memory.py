"""Memory functions of `torch.neuron_sim`; bytes of HBM of one device."""

from __future__ import annotations

from typing import Any

import torch

from neuron_sim.settings import device_name
from neuron_sim.torch_backend.memory_history import (  # noqa: F401 - vendor's names
    _dump_snapshot,
    _record_memory_history,
    _snapshot,
    memory_snapshot,
)
from neuron_sim.torch_backend.state import DeviceLike, device_index

_KINDS = ("current", "peak", "allocated", "freed")


def memory_allocated(device: DeviceLike = None) -> int:
    """Bytes of the blocks of live tensors, each a multiple of 512.

    A block above 1 MiB may be up to 1 MiB larger than its tensor: the rest of a cached block
    that is too small to be split off.
    """
    return torch.accelerator.memory_allocated(device_index(device))


def max_memory_allocated(device: DeviceLike = None) -> int:
    """The highest memory_allocated since the start or reset_peak_memory_stats."""
    return torch.accelerator.max_memory_allocated(device_index(device))


def memory_reserved(device: DeviceLike = None) -> int:
    """Bytes of the segments that the caching allocator holds: allocated or kept for reuse."""
    return torch.accelerator.memory_reserved(device_index(device))


def max_memory_reserved(device: DeviceLike = None) -> int:
    """The highest memory_reserved since the start or reset_peak_memory_stats."""
    return torch.accelerator.max_memory_reserved(device_index(device))


def memory_stats(device: DeviceLike = None) -> dict[str, Any]:
    """Counters by name, as in torch.accelerator.memory_stats, and those of the vendor's guide
    (torch/guides/memory-profiling-guide): `allocated_bytes`, `reserved_bytes` and `active_bytes`
    with `current`, `peak`, `allocated` and `freed`, `allocation_requests`, `num_tensor_frees`."""
    statistics = torch.accelerator.memory_stats(device_index(device))
    for name in ("allocated_bytes", "reserved_bytes", "active_bytes"):
        statistics[name] = {kind: statistics[f"{name}.all.{kind}"] for kind in _KINDS}
    statistics["allocation_requests"] = statistics["allocation.all.allocated"]
    statistics["num_tensor_frees"] = statistics["allocation.all.freed"]
    return statistics


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Resets the peaks to the current use."""
    torch.accelerator.reset_peak_memory_stats(device_index(device))


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    """Resets the sums to zero."""
    torch.accelerator.reset_accumulated_memory_stats(device_index(device))


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """(free, total) bytes; memory that the caching allocator keeps for reuse is not free."""
    free, total = torch.accelerator.get_memory_info(device_index(device))
    return free, total


def empty_cache() -> None:
    """Returns cached segments to the device, and their backing host memory to the host."""
    torch.accelerator.empty_cache()


_ROWS = [
    ("allocated memory", "allocated_bytes"),
    ("active memory", "active_bytes"),
    ("reserved memory", "reserved_bytes"),
    ("requested memory", "requested_bytes"),
    ("non-releasable memory", "inactive_split_bytes"),
    ("allocations", "allocation"),
    ("active allocations", "active"),
    ("segments", "segment"),
]
"""Lines of memory_summary, the three of the short one first."""


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    """A table of memory_stats, as in torch.cuda.memory_summary; abbreviated: of allocated, active
    and reserved memory only."""
    statistics = memory_stats(device)
    free, total = mem_get_info(device)
    place = torch.device(device_name(), device_index(device))
    lines = [
        f"Neuron Memory Summary, Device {place}: {_size(total)} of HBM, {_size(free)} free, "
        f"{statistics['num_ooms']} out of memory, {statistics['num_alloc_retries']} retries",
        f"{'':<22}{'now':>14}{'peak':>14}{'allocated':>14}{'freed':>14}",
    ]
    for title, name in _ROWS[:3] if abbreviated else _ROWS:
        values = [statistics[f"{name}.all.{kind}"] for kind in _KINDS]
        shown = [_size(value) if name.endswith("_bytes") else str(value) for value in values]
        lines.append(f"{title:<22}" + "".join(f"{value:>14}" for value in shown))
    return "\n".join(lines)


def _size(count: float) -> str:
    """Bytes in the largest unit that gives at least one."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while abs(count) >= 1024 and len(units) > 1:
        count /= 1024
        units.pop(0)
    return f"{count:.2f} {units[0]}" if units[0] != "B" else f"{count} B"
