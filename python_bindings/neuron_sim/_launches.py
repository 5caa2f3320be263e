"""What ran on the device and how long: launch records, the kernel cache, host threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from neuron_sim import _C  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel. Times are simulated microseconds."""

    name: str
    """The kernel, for example "matmul"."""
    shapes: str
    """Its arguments: "a [128, 64] float32, b [64, 32] float32 -> out [128, 32] float32"."""
    device: int
    start_us: float
    """Start on the device's clock."""
    end_us: float
    body_us: float
    """First instruction to last completion."""
    latency_us: float
    """The body and the launch overhead, as the vendor's benchmark counts: end_us - start_us."""
    utilisation: dict[str, float]
    """Busy share (0 to 1) of the body, by engine ("Tensor", "Vector", ...) and of "DMA"."""
    bottleneck: str
    """The busiest of them, or "latency" when none is busy half of the time."""
    dma_transfers: int
    dma_bytes: int
    instructions: int
    """How many instructions were executed."""
    overlapping_tiles: list[str]
    """Tiles placed by hand on bytes of others: "a_tile and b_tile share bytes [0, 8) of sbuf"."""
    overlap_lost_us: float
    """How much shorter body_us would be if they shared no bytes."""
    _record: Any = field(repr=False, compare=False)

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes what every engine did when, for https://ui.perfetto.dev or chrome://tracing.

        Simulates the launch once more; time 0 is its start.
        """
        self._record.write_trace(os.fspath(path))


class KernelCacheInfo(NamedTuple):
    """Calls that found their kernel, calls that compiled it, kernels kept."""

    hits: int
    misses: int
    kernels: int


@contextmanager
def record_launches() -> Iterator[list[Launch]]:
    """Records the launches of this process, on all devices and threads.

    The list is filled at the end of the block.

        with torch.neuron_sim.record_launches() as launches:
            model(x)
        print(launches[0].name, launches[0].latency_us)
    """
    launches: list[Launch] = []
    recording = _C.start_recording()
    try:
        yield launches
    finally:
        for record in _C.finish_recording(recording):
            launches.append(Launch(**record.facts(), _record=record))


def kernel_cache_info() -> KernelCacheInfo:
    """Statistics of the compiled kernels of this process."""
    return KernelCacheInfo(*_C.kernel_cache_info())


def clear_kernel_cache() -> None:
    """Forgets all compiled kernels; the statistics go on."""
    _C.clear_kernel_cache()


def host_threads() -> int:
    """How many host threads simulate."""
    return _C.host_threads()


def set_host_threads(threads: int) -> None:
    """Simulates with that many host threads (1 to 256); changes neither results nor times."""
    _C.set_host_threads(threads)
