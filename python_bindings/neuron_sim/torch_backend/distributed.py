"""The torch.distributed backend of the device, and the account of its collectives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch.distributed as distributed

from neuron_sim import _C
from neuron_sim.settings import device_name


def register_backend(name: str = device_name()) -> None:
    """Registers the device's backend with torch.distributed; no effect when PyTorch has no c10d.

    `torch.distributed.init_process_group("neuron_sim")` uses it for device tensors; without a name,
    or with "cpu:gloo,neuron_sim:neuron_sim", a group also takes CPU tensors, over gloo.
    """
    if not distributed.is_available() or not distributed.is_gloo_available():
        return
    if not hasattr(distributed.Backend, name.upper()):
        distributed.Backend.register_backend(name, _create, devices=[device_name()])


def _create(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    """Called by torch.distributed for every group. gloo moves the bytes between the processes; a
    FakeStore (one_rank_of) says that there are none."""
    if _is_fake(store):
        from torch._C._distributed_c10d import FakeProcessGroup  # absent from some builds

        return _C.make_distributed_backend(FakeProcessGroup._create_internal(rank, size))
    gloo = distributed.ProcessGroupGloo(store, rank, size, timeout=timeout)
    return _C.make_distributed_backend(gloo)


def _is_fake(store: Any) -> bool:
    while hasattr(store, "underlying_store"):  # of a PrefixStore
        store = store.underlying_store
    return type(store).__name__ == "FakeStore"


@contextmanager
def one_rank_of(ranks: int) -> Iterator[None]:
    """Inside it this process is rank 0 of a default group of `ranks` without other processes.

    Its collectives can be timed (torch.neuron_sim.timing_only()), not run: every other rank is
    taken to call the same at the same time. ValueError for fewer than one rank; RuntimeError when
    there is a default group already.
    """
    from torch.testing._internal.distributed.fake_pg import FakeStore  # registers a backend

    if ranks < 1:
        raise ValueError(f"a group has at least one rank, not {ranks}")
    if distributed.is_initialized():
        raise RuntimeError("torch.distributed has a default process group already")
    distributed.init_process_group(device_name(), store=FakeStore(), rank=0, world_size=ranks)
    try:
        yield
    finally:
        distributed.destroy_process_group()


@dataclass(frozen=True)
class Collective:
    """One collective (or send, or recv) that this process took part in. Times are simulated."""

    call: str
    """The call: "allreduce(SUM) of float32 [3, 4]"."""
    device: int
    """The device of this process."""
    ranks: int
    """The number of participants."""
    bytes: int
    """The buffer whose time is modelled, on the rank with the largest."""
    algorithm: str
    """The algorithm of the cost model: "mesh", "rdh", "kangaring", "direct" or "none"."""
    ready_us: float
    """When this rank's tensors were ready."""
    start_us: float
    """When the last rank was ready: the same number on all ranks."""
    end_us: float
    """When the results are there: the same number on all ranks."""

    @property
    def waited_us(self) -> float:
        """How long this rank waited for the others."""
        return self.start_us - self.ready_us

    @property
    def latency_us(self) -> float:
        """The collective itself."""
        return self.end_us - self.start_us


@contextmanager
def record_collectives() -> Iterator[list[Collective]]:
    """Records the collectives of this process.

    The list is filled at the end of the block::

        with torch.neuron_sim.record_collectives() as collectives:
            torch.distributed.all_reduce(gradient)
        print(collectives[0].call, collectives[0].latency_us, collectives[0].waited_us)
    """
    collectives: list[Collective] = []
    recording = _C.start_collective_recording()
    try:
        yield collectives
    finally:
        for facts in _C.finish_collective_recording(recording):
            collectives.append(Collective(**facts))
