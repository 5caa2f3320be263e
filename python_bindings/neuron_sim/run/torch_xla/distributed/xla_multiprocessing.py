"""torch_xla.distributed.xla_multiprocessing: one process for each NeuronCore."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.multiprocessing

from neuron_sim import _C

__all__ = ["MpModelWrapper", "MpSerialExecutor", "spawn"]

PROCESSES = "NEURONCORE_NUM_DEVICES"
"""The vendor's variable for the number of processes of `spawn` (page "Environment Variables")."""


def spawn(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int | None = None,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Calls `fn(index, *args)` in `nprocs` new processes; in this one for 1.

    Without `nprocs`: as many as NEURONCORE_NUM_DEVICES says, else as this process has devices.
    """
    count = nprocs or int(os.environ.get(PROCESSES) or _C.device_count())
    if count == 1:
        return fn(0, *args)
    return torch.multiprocessing.start_processes(
        _run,
        args=(fn, tuple(args), count, _free_port()),
        nprocs=count,
        join=join,
        daemon=daemon,
        start_method=start_method,
    )


def _run(index: int, fn: Callable[..., Any], args: tuple, count: int, port: int) -> None:
    os.environ.update(
        RANK=str(index),
        LOCAL_RANK=str(index),
        WORLD_SIZE=str(count),
        LOCAL_WORLD_SIZE=str(count),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
    )
    fn(index, *args)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class MpModelWrapper:
    """A model that processes share until they move it to their devices."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model

    def to(self, device: str | torch.device) -> torch.nn.Module:
        """The model on the device."""
        return self._model.to(device)


class MpSerialExecutor:
    """Calls a function in all processes; nothing here needs them to wait for each other."""

    def run(self, fn: Callable[[], Any]) -> Any:
        """What the function returns."""
        return fn()
