"""Launches on the device and their times: launch records, the kernel cache, host threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from neuron_sim import _C, _core
from neuron_sim.calling_place import calling_place
from neuron_sim.files import write_whole
from neuron_sim.terminal.tables import as_html, cell
from neuron_sim.timeline import advice_text, advise, write_timeline
from neuron_sim.timeline.page import recorded_page
from neuron_sim.timeline.spans import spans_of, spans_run
from neuron_sim.torch_compile.graph_source import GraphSource

GRAPH = "graph"
"""The name of a program of torch.compile."""

_C.find_places_with(calling_place)


class Launch:
    """One launch of a kernel. Times are simulated microseconds.

    A small record: its properties are read on demand, and kernels are shared by their launches.
    """

    __slots__ = ("_record",)

    def __init__(self, record: Any) -> None:
        self._record = record

    @property
    def name(self) -> str:
        """The kernel, for example "matmul"."""
        return self._record.name

    @property
    def shapes(self) -> str:
        """The tensors of its operator, "self [128] float32, mat1 [32, 64] float32, mat2 [64, 128]
        float32 -> out [32, 128] float32"; of a list the first four. Without an operator, its
        arguments.
        """
        return self._record.shapes

    @property
    def arguments(self) -> str:
        """The arguments of the kernel's program, in the shapes that it was compiled for."""
        return self._record.arguments

    @property
    def operator(self) -> str:
        """The innermost operator of PyTorch that launched it, "aten::addmm"; "neuron_sim::graph" of
        a program of torch.compile, whose instructions name theirs (shares_by_source()); a node of
        autograd whose gradient is a kernel itself; "" without one.
        """
        return self._record.operator

    @property
    def module(self) -> str:
        """The innermost torch.nn.Module that was being called, by its path in the outermost one,
        "encoder.layer.0.attention.self.query"; "" for that one, and outside of modules. In a
        backward pass, the module of the call of which this is the gradient, if that was recorded
        too.
        """
        return self._record.module

    @property
    def source_line(self) -> str:
        """File and line of the innermost frame outside torch and this package, with a colon between
        them; in a backward pass as `module`. Empty without one.
        """
        return self._record.source_line

    @property
    def allocated_bytes(self) -> int:
        """The HBM of the device that tensors took when it ran."""
        return self._record.allocated_bytes

    @property
    def device(self) -> int:
        """Index of the device."""
        return self._record.device

    @property
    def kernel_id(self) -> int:
        """Equal for the launches of one kernel in a recording, while one of them is kept."""
        return self._record.kernel_id

    @property
    def start_us(self) -> float:
        """Start on the device's clock."""
        return self._record.start_us

    @property
    def end_us(self) -> float:
        """End on the device's clock."""
        return self._record.end_us

    @property
    def body_us(self) -> float:
        """First instruction to last completion."""
        return self._record.body_us

    @property
    def latency_us(self) -> float:
        """The body and the launch overhead, as in the vendor's benchmark: end_us - start_us."""
        return self._record.latency_us

    @property
    def utilisation(self) -> dict[str, float]:
        """Busy share (0 to 1) of the body, by engine ("Tensor", "Vector", ...) and of "DMA"."""
        return self._record.utilisation

    @property
    def bottleneck(self) -> str:
        """The busiest of them, or "latency" when none is busy half the time."""
        return self._record.bottleneck

    @property
    def dma_transfers(self) -> int:
        """The number of DMA transfers."""
        return self._record.dma_transfers

    @property
    def dma_bytes(self) -> int:
        """The bytes that they moved."""
        return self._record.dma_bytes

    @property
    def instructions(self) -> int:
        """The number of executed instructions."""
        return self._record.instructions

    @property
    def overlapping_tiles(self) -> list[str]:
        """Manually placed tiles that overlap others: "a_tile and b_tile share bytes [0, 8) of
        sbuf".
        """
        return self._record.overlapping_tiles

    @property
    def overlap_lost_us(self) -> float:
        """How much shorter body_us would be if they did not overlap."""
        return self._record.overlap_lost_us

    def __repr__(self) -> str:
        return (
            f"Launch(name={self.name!r}, operator={self.operator!r}, module={self.module!r}, "
            f"shapes={self.shapes!r}, device={self.device}, "
            f"start_us={self.start_us}, latency_us={self.latency_us}, body_us={self.body_us}, "
            f"bottleneck={self.bottleneck!r})"
        )

    def _repr_html_(self) -> str:
        return as_html([_row(self)], title=f"Launch of {self.name}")

    def write_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Writes the timeline of every engine with dependences and counters, for
        https://ui.perfetto.dev.

        Simulates the launch once more; time 0 is its start, as a profiler sees it. RuntimeError in
        a long recording, which keeps the programs of its last 1,024 different kernels. OSError when
        the file cannot be written; an existing one is unchanged.
        """
        write_whole(path, _core.program_of_kernel(self._record.kernel()).perfetto())

    def write_timeline(self, path: str | os.PathLike[str]) -> None:
        """Writes the timeline as a page for a browser, which needs no network. Errors as
        write_perfetto()."""
        program = _core.program_of_kernel(self._record.kernel())
        write_timeline(program, path, title=f"{self.name}: {self.shapes}")

    def shares_by_source(self) -> list[dict[str, Any]]:
        """How much of the launch belongs to each source line of its instructions; in a graph of
        torch.compile, to each operator of the model: `source` ("" for instructions without one),
        `module`, `operator` and `source_line` as the properties (the module's path includes that
        of a compiled module in the one that calls it), `path_us` (its part of the critical path in
        microseconds, by what it is spent on; the parts of all sources sum to body_us),
        `instructions` that ran, `dma_bytes`, `hbm_bytes` (read and written) and
        `multiply_accumulates` (of products).

        Simulates the launch once more, with the upper bounds of what data decides. RuntimeError as
        write_perfetto().
        """
        shares = _core.program_of_kernel(self._record.kernel()).shares_by_source()
        return [{**share, **self._origin(share["source"])} for share in shares]

    def _origin(self, source: str) -> dict[str, str]:
        """The module, operator and line of instructions with this source."""
        found = GraphSource.parse(source) if self.name == GRAPH else GraphSource()
        return {
            "module": ".".join(path for path in (self.module, found.module) if path),
            "operator": found.operator or self.operator,
            "source_line": found.line or self.source_line,
        }

    def counters(self) -> dict[str, int]:
        """What one run of the kernel counts: `hbm_read_bytes`, `multiply_accumulates` (of
        products), ..., with the upper bounds of what data decides. RuntimeError as
        write_perfetto().
        """
        return _core.program_of_kernel(self._record.kernel()).counters()

    def advice(self) -> str:
        """What bounds the launch and what would help. RuntimeError as write_perfetto()."""
        return advice_text(advise(_core.program_of_kernel(self._record.kernel())))


class Launches(list[Launch]):
    """The launches of a recording; a table with a line each in notebooks."""

    def _repr_html_(self) -> str:
        total = sum(launch.latency_us for launch in self)
        return as_html(list(map(_row, self)), title=f"{len(self)} launches, {cell(total)} us")

    def write_timeline(self, path: str | os.PathLike[str], title: str = "launches") -> None:
        """Writes a page of all launches, one after the other, by module and operator. Simulates
        each once more. Errors as Launch.write_timeline()."""
        architecture = _C.device_properties(self[0].device)["architecture"] if self else ""
        write_whole(path, recorded_page(spans_run(title, architecture, spans_of(self))))


def _row(launch: Launch) -> dict[str, Any]:
    """A launch as a line of a table."""
    return {
        "kernel": launch.name,
        "operator": launch.operator,
        "module": launch.module,
        "shapes": launch.shapes,
        "device": launch.device,
        "start us": launch.start_us,
        "latency us": launch.latency_us,
        "body us": launch.body_us,
        "bound by": launch.bottleneck,
        "DMA bytes": launch.dma_bytes,
        "instructions": launch.instructions,
    }


class KernelCacheInfo(NamedTuple):
    """Statistics of the kernel cache."""

    hits: int
    """Calls that found their kernel."""
    misses: int
    """Calls that compiled it."""
    kernels: int
    """Kernels in the cache."""
    bytes: int
    """Host memory that they take, approximately."""
    evictions: int
    """Kernels evicted to keep the limit."""


@contextmanager
def record_launches() -> Iterator[Launches]:
    """Records the launches of this process, on all devices and threads.

    The list is filled at the end of the block::

        with torch.neuron_sim.record_launches() as launches:
            model(x)
        print(launches[0].name, launches[0].latency_us)
    """
    launches = Launches()
    recording = _C.start_recording()
    try:
        yield launches
    finally:
        launches.extend(map(Launch, _C.finish_recording(recording)))


def kernel_cache_info() -> KernelCacheInfo:
    """Statistics of the compiled kernels of this process."""
    return KernelCacheInfo(*_C.kernel_cache_info())


def kernel_cache_limit() -> int:
    """Most bytes of host memory that cached kernels may take, initially 1 GiB."""
    return _C.kernel_cache_limit()


def set_kernel_cache_limit(limit: int) -> None:
    """Sets kernel_cache_limit(); the least recently used kernels are evicted.

    ValueError when it is negative. With 0 every call compiles its kernel.
    """
    _C.set_kernel_cache_limit(limit)


def clear_kernel_cache() -> None:
    """Evicts all compiled kernels; the statistics stay."""
    _C.clear_kernel_cache()


def host_threads() -> int:
    """The number of host threads that simulate."""
    return _C.host_threads()


def set_host_threads(threads: int) -> None:
    """Simulates with that many host threads (1 to 256); changes neither results nor times."""
    _C.set_host_threads(threads)
