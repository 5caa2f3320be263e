"""Starts the processes of a distributed example: one per NeuronCore, joined over a file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as distributed


def _join(rank: int, world: int, folder: str, program: Callable[..., Any], *arguments: Any) -> None:
    import neuron_sim.torch_device as device  # also without autoload

    torch.set_num_threads(1)
    device.set_device(rank % device.device_count())
    device.init()
    rendezvous = f"file://{folder}/rendezvous"
    distributed.init_process_group(
        "neuron_sim", init_method=rendezvous, rank=rank, world_size=world
    )
    try:
        program(rank, world, *arguments)
    finally:
        distributed.destroy_process_group()


def launch(program: Callable[..., Any], world: int, *arguments: Any) -> None:
    """Runs `program(rank, world, *arguments)` in `world` processes in which torch.distributed is
    ready with the backend neuron_sim. Raises when one of them raises."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(
            _join, (world, str(Path(folder)), program, *arguments), nprocs=world
        )
