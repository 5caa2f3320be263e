"""Memory functions of `torch.neuron_sim`; bytes of HBM of one device."""

from __future__ import annotations

from typing import Any

import torch

from neuron_sim._device_state import DeviceLike, device_index


def memory_allocated(device: DeviceLike = None) -> int:
    """Bytes of live tensors, each rounded up to 512."""
    return torch.accelerator.memory_allocated(device_index(device))


def max_memory_allocated(device: DeviceLike = None) -> int:
    """The highest memory_allocated since the start or reset_peak_memory_stats."""
    return torch.accelerator.max_memory_allocated(device_index(device))


def memory_reserved(device: DeviceLike = None) -> int:
    """The same as memory_allocated: nothing is held back."""
    return torch.accelerator.memory_reserved(device_index(device))


def max_memory_reserved(device: DeviceLike = None) -> int:
    """The same as max_memory_allocated."""
    return torch.accelerator.max_memory_reserved(device_index(device))


def memory_stats(device: DeviceLike = None) -> dict[str, Any]:
    """Counters by name, as torch.accelerator.memory_stats."""
    return torch.accelerator.memory_stats(device_index(device))


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Starts the peaks again at the present use."""
    torch.accelerator.reset_peak_memory_stats(device_index(device))


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    """Starts the sums again at zero."""
    torch.accelerator.reset_accumulated_memory_stats(device_index(device))


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """(free, total) bytes."""
    free, total = torch.accelerator.get_memory_info(device_index(device))
    return free, total


def empty_cache() -> None:
    """Gives the host memory behind freed tensors back to the operating system."""
    torch.accelerator.empty_cache()
