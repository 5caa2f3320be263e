"""What each module of a model took in a run: its part of every launch.

Times are integers of picoseconds, so that parts sum exactly to the whole.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from neuron_sim.layer_report.measurement import Measurement
from neuron_sim.torch_backend.launches import GRAPH, Launch

OVERHEAD = "(launch overhead)"
"""The path of what programs of torch.compile take before and after their instructions, which
belong to several modules."""

_GRAPH_OPERATOR = "neuron_sim::graph"
"""Launch.operator of the programs of a graph (csrc/launch/graph.h)."""


@dataclass
class Use:
    """What a module took."""

    forward_ps: int = 0
    backward_ps: int = 0
    hbm_bytes: int = 0
    """Read from and written to HBM."""
    multiply_accumulates: int = 0
    """Multiply-accumulates of products."""
    peak_bytes: int = 0
    """The most HBM that tensors took while one of its launches ran."""
    launches: set[int] = field(default_factory=set)
    """Indices; a program of torch.compile is one of all modules in it."""

    @property
    def time_ps(self) -> int:
        """The time of both passes."""
        return self.forward_ps + self.backward_ps

    def add(self, other: Use) -> None:
        """Adds what another module took."""
        self.forward_ps += other.forward_ps
        self.backward_ps += other.backward_ps
        self.hbm_bytes += other.hbm_bytes
        self.multiply_accumulates += other.multiply_accumulates
        self.peak_bytes = max(self.peak_bytes, other.peak_bytes)
        self.launches |= other.launches


Uses = dict[str, Use]
"""By module path, "" for the model itself and what belongs to no module, and OVERHEAD."""


class _Part(NamedTuple):
    """What a launch adds to a module."""

    path: str
    time_ps: int
    hbm_bytes: int = 0
    multiply_accumulates: int = 0


class _Program(NamedTuple):
    """A launch of a graph."""

    module: str
    """CompiledGraph.program_sources."""
    is_first: bool
    """Whether it starts what is one program on a chip."""


def uses_of(measured: Measurement, whole: Container[str] = ()) -> Uses:
    """Divides the times of the launches among their modules. A module in `whole` has one path per
    kernel. On a chip, programs of a graph that need nothing of the host in between are one program,
    so that only the first has a launch overhead."""
    uses: Uses = {}
    programs = _programs(measured)
    known: dict[Any, Any] = {}
    for index, launch in enumerate(measured.launches):
        for part in _parts(launch, programs.get(index), known):
            path = f"{part.path}.({launch.name})".lstrip(".") if part.path in whole else part.path
            use = Use(
                hbm_bytes=part.hbm_bytes,
                multiply_accumulates=part.multiply_accumulates,
                peak_bytes=launch.allocated_bytes,
                launches={index},
            )
            if index < measured.forward:
                use.forward_ps = part.time_ps
            else:
                use.backward_ps = part.time_ps
            uses.setdefault(path, Use()).add(use)
    return uses


def _programs(measured: Measurement) -> dict[int, _Program]:
    """The launches of graphs, by index. None is known where graphs ran on several threads."""
    indices = [
        index
        for index, launch in enumerate(measured.launches)
        if launch.operator == _GRAPH_OPERATOR
    ]
    programs = [
        _Program(source, place == 0 or bool(graph.host_operators))
        for graph in measured.graphs
        for place, source in enumerate(graph.program_sources)
    ]
    return dict(zip(indices, programs, strict=True)) if len(indices) == len(programs) else {}


def _parts(launch: Launch, program: _Program | None, known: dict[Any, Any]) -> Iterator[_Part]:
    body, latency = _picoseconds(launch.body_us), _picoseconds(launch.latency_us)
    if launch.name != GRAPH and program is None:
        yield _Part(launch.module, latency, *_counts(launch, known))
        return
    if launch.name == GRAPH:
        yield from _parts_of_graph(launch, body, known)
    elif program is not None:
        path = ".".join(each for each in (launch.module, program.module) if each)
        yield _Part(path, body, *_counts(launch, known))
    if program is None or program.is_first:
        yield _Part(OVERHEAD, latency - body)


def _parts_of_graph(launch: Launch, body: int, known: dict[Any, Any]) -> Iterator[_Part]:
    key = (launch.kernel_id, launch.module)
    if key not in known:
        known[key] = launch.shares_by_source()
    shares = known[key]
    times = [sum(map(_picoseconds, each["path_us"].values())) for each in shares]
    for share, time in zip(shares, scaled(times, body), strict=True):
        yield _Part(share["module"], time, share["hbm_bytes"], share["multiply_accumulates"])


def scaled(parts: Sequence[int], whole: int) -> list[int]:
    """The parts scaled so that they sum to `whole`; the largest takes what rounding leaves.

    They sum to something else only where data decides: the parts then count its upper bounds."""
    total = sum(parts)
    if total == whole or not parts:
        return list(parts)
    found = [part * whole // total if total else 0 for part in parts]
    found[max(range(len(parts)), key=parts.__getitem__)] += whole - sum(found)
    return found


def _counts(launch: Launch, known: dict[Any, Any]) -> tuple[int, int]:
    """Bytes of HBM and multiply-accumulates of a launch; those of a kernel are counted once."""
    if launch.kernel_id not in known:
        counters = launch.counters()
        moved = counters["hbm_read_bytes"] + counters["hbm_write_bytes"]
        known[launch.kernel_id] = moved, counters["multiply_accumulates"]
    return known[launch.kernel_id]


def _picoseconds(microseconds: float) -> int:
    """The device's clock counts whole ones."""
    return round(microseconds * 1e6)
