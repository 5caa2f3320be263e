"""What the cores of a group have: physical cores of a logical one, and HBM."""

from __future__ import annotations

import torch

from neuron_sim.model.estimate import device_facts


def check_logical_core(cores: int) -> None:
    """ValueError when the device has no logical cores of so many physical ones."""
    most = int(device_facts()["limits.logical_cores"]["value"])
    if cores > most:
        name = torch.neuron_sim.get_device_properties().architecture
        raise ValueError(
            f"--lnc is {cores}; a logical core of {name} has at most {most} physical "
            f"{'core' if most == 1 else 'cores'}."
        )


def of_core(cores: int) -> float:
    """Bytes of HBM of each of so many cores that share a model: they fill chips one by one, and
    those of a chip share its HBM."""
    on_chip = min(cores, int(device_facts()["limits.cores"]["value"]))
    return torch.neuron_sim.get_device_properties().total_memory / on_chip


def check(hbm: int, cores: int) -> None:
    """torch.OutOfMemoryError when so many bytes of each of the cores do not fit."""
    capacity = of_core(cores)
    if hbm > capacity:
        raise torch.OutOfMemoryError(
            f"weights and caches take {hbm / 2**20:,.0f} MiB of each core, which has "
            f"{capacity / 2**20:,.0f} MiB of its chip's HBM; more cores (--tp), a shorter "
            "--context or a smaller --batch need less."
        )
