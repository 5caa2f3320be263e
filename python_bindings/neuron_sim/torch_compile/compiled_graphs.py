"""The account of torch.compile(backend="neuron_sim"): the outcome for each graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CompiledGraph:
    """One captured graph. Times are simulated microseconds."""

    kind: str
    """"forward", "backward" or "inference"."""
    kernels: int = 0
    """Kernels that the graph would launch one by one."""
    kernel_bodies_us: float = 0
    """The sum of their bodies: the time of the graph without torch.compile, except that on trn1
    their operands are transposed as in the graph (option `exact_transposes`)."""
    constant_kernels: int = 0
    """Kernels that depend on parameters and buffers alone: computed before the runs."""
    arranged_bytes: int = 0
    """Bytes of parameters and buffers that the graph stores in another order for its kernels."""
    kernels_after_fusion: int = 0
    """Kernels that are not constant, after fusion."""
    programs: int = 0
    """Programs that the graph became; one, unless the host computes something in between."""
    program_bodies_us: float = 0
    """The sum of the bodies of the programs."""
    program_sources: list[str] = field(default_factory=list)
    """The module that each program computes, by its path in the compiled one; "" of a program
    of several modules, whose instructions say theirs (Launch.shares_by_source())."""
    separate_programs: list[str] = field(default_factory=list)
    """Kernels of NKI that are programs of their own between those of the graph, and why."""
    host_operators: list[str] = field(default_factory=list)
    """Host-side operators of each run (int64 indices, random seeds), in order."""
    unchanged: list[str] = field(default_factory=list)
    """Why the compiler's passes changed nothing in a program."""
    skipped_passes: list[str] = field(default_factory=list)
    """Passes skipped in a program, because SBUF cannot hold the data that they keep."""
    left_out: list[str] = field(default_factory=list)
    """Passes that order kernels, left out because the program is shorter without them, or by the
    option of that name."""
    not_compiled: str = ""
    """Why the graph runs operator by operator; empty when it is compiled."""


_compiled: list[CompiledGraph] = []

_recordings: list[list[CompiledGraph]] = []


def note(graph: CompiledGraph) -> None:
    """Adds a graph to the account."""
    _compiled.append(graph)


def compiled_graphs() -> list[CompiledGraph]:
    """The results of torch.compile(backend="neuron_sim") for the graphs of this process, in the
    order of their first runs."""
    return list(_compiled)


def note_run(graph: CompiledGraph) -> None:
    """Adds a run of a graph to the recordings of runs."""
    for recording in _recordings:
        recording.append(graph)


@contextmanager
def record_graph_runs() -> Iterator[list[CompiledGraph]]:
    """The graphs that run in the block, on all threads, in their order; without the run that
    compiles a graph."""
    runs: list[CompiledGraph] = []
    _recordings.append(runs)
    try:
        yield runs
    finally:
        # Equal lists may be there: of another recording without a run.
        _recordings[:] = [recording for recording in _recordings if recording is not runs]


def reset_compiled_graphs() -> None:
    """Clears the account; compiled functions stay compiled."""
    _compiled.clear()
