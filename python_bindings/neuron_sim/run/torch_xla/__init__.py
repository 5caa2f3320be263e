"""Stands in for torch_xla where it is missing, for scripts of the vendor's older PyTorch package.

The "XLA device" is the simulated device, and tensors on it say so: `tensor.device.type` is the name
of the device, not "xla". There is no lazy graph: an operator is launched when it is called, so
values are those of torch_xla and simulated times those of eager execution, in which each operator
is a separate launch; torch_neuronx.trace and torch.compile give one program. `sync` and
`mark_step` mark the end of a step and wait only where they are told to.

Names are those of the "PyTorch/XLA API" of release 2.8; SPMD is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from neuron_sim.run.torch_xla import core, runtime
from neuron_sim.run.torch_xla.core import xla_model
from neuron_sim.run.torch_xla.core.device_type import here, install
from neuron_sim.run.torch_xla.distributed.xla_multiprocessing import spawn

__all__ = [
    "compile",
    "core",
    "device",
    "device_count",
    "devices",
    "launch",
    "manual_seed",
    "real_devices",
    "runtime",
    "step",
    "sync",
]

__version__ = "2.8.0"

install()

sync = xla_model.mark_step
device_count = runtime.addressable_device_count


def device(index: int | None = None) -> torch.device:
    """The device with this index; the current one without."""
    return here(index)


def devices() -> list[torch.device]:
    """All devices of this process."""
    return [here(index) for index in range(device_count())]


def real_devices() -> list[str]:
    """The names of the hardware of all devices of this process."""
    return [f"{runtime.device_type()}:{index}" for index in range(device_count())]


@contextmanager
def step() -> Iterator[None]:
    """A step of training: what ran before is marked as an own step, and so is the block."""
    sync()
    try:
        yield
    finally:
        sync()


def compile(f: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`f` as one step; without it a context manager of one. It stays eager: see the module."""
    if f is None:
        return step()

    def stepped(*arguments: Any, **keywords: Any) -> Any:
        with step():
            return f(*arguments, **keywords)

    return stepped


def manual_seed(seed: int, device: torch.device | None = None) -> None:
    """Seeds the random numbers of the device."""
    xla_model.set_rng_state(seed, device)


def launch(fn: Callable[..., Any], args: Sequence[Any] = (), start_method: str = "spawn") -> None:
    """Calls `fn(index, *args)` in each process: this one under torchrun, else in new ones."""
    if torch.distributed.is_torchelastic_launched():
        fn(runtime.local_ordinal(), *args)
    else:
        spawn(fn, tuple(args), start_method=start_method)
