"""`neuron_sim.time_kernel()` and `neuron_sim.trace()`: simulated times of kernels without a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from neuron_sim import _core
from neuron_sim.files import write_whole
from neuron_sim.terminal.arguments import chosen_architecture
from neuron_sim.timeline.advice import Advice, advise
from neuron_sim.timeline.changes import Change
from neuron_sim.timeline.page import write_timeline


@dataclass(frozen=True)
class TimedKernel:
    """A kernel compiled for one architecture and one set of shapes, and its simulated time."""

    name: str
    architecture: str
    body_us: float
    """Microseconds from the first instruction to the last completion."""
    latency_us: float
    """The body and the launch overhead, as the vendor's benchmark reports it (nc_latency)."""
    profile_us: float
    """The whole run as the vendor's profiler reports it (total_time)."""
    first_profile_us: float
    """The same of a first execution, which takes longer on two cores."""
    bottleneck: str
    """The busiest engine, or "DMA"; "latency" when none is busy half the time."""
    utilisation: Mapping[str, float]
    """Busy share of the body, 0 to 1, of each engine and of "DMA"."""
    instructions: int
    """How many are executed, on all engines."""
    engine_instructions: Mapping[str, int]
    dma_transfers: int
    dma_bytes: int
    """What they move."""
    argument_bytes: int
    """The size of all tensors in HBM that the kernel takes and returns."""
    multiply_accumulates: int
    """Those of products on the Tensor engine."""
    # Of each instance; no figures, so that asdict() has figures alone.
    _program: ClassVar[Any]
    _log: ClassVar[tuple[int, ...]]
    _changes: ClassVar[Any]

    def advice(self) -> Advice:
        """What bounds the kernel and what would help; `print(advice.bound)`. Of a kernel of NKI,
        changes are tried, which takes some seconds."""
        return advise(self._program, self._log, changes=self._changes())

    def listing(self) -> str:
        """Its instructions as text."""
        return str(self._program.listing())

    def write_timeline(self, path: str | os.PathLike[str]) -> None:
        """Writes the timeline as a page for a browser, which needs no network; OSError."""
        title = f"{self.name} on {self.architecture}"
        write_timeline(self._program, path, self._log, title, self._changes())

    def write_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Writes the timeline for https://ui.perfetto.dev; OSError."""
        write_whole(path, self._program.perfetto(log=list(self._log)))


def time_kernel(
    name: str,
    operands: Sequence[Sequence[int]],
    dtype: str = "float32",
    architecture: str | os.PathLike[str] | None = None,
    options: Mapping[str, int | str] | None = None,
) -> TimedKernel:
    """The time of a kernel of the library for operands of these shapes, which need no data.

        timed = neuron_sim.time_kernel("matmul", [[2048, 2048], [2048, 2048]], "bfloat16", "trn2")

    name: docs/kernels.md lists kernels and options. dtype: of all operands. architecture: a name, a
    TOML file or an Architecture; None: what the environment names, else the default.

    ValueError for a name, shape, dtype or option that the kernel does not take; MemoryError for
    tiles that do not fit.
    """
    chosen = _chosen(architecture) or chosen_architecture(None)
    return _timed(_core.build_kernel(name, operands, dtype, chosen, dict(options or {})))


def trace(
    kernel: Any,
    *arguments: Any,
    architecture: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> TimedKernel:
    """The time of an NKI kernel, of either language, for the arguments of a call.

        timed = neuron_sim.trace(kernel, a, b, architecture="trn3")
        timed.write_timeline("timeline.html")

    Only shapes and dtypes of arrays matter, and nothing is computed, unless the kernel has loops
    that depend on data: it then runs on copies. architecture: as of time_kernel(); None: that of a
    call of the kernel.

    TypeError for what is no kernel; the errors of the call.
    """
    if not hasattr(kernel, "call"):
        raise TypeError(f"{kernel!r:.60} is no NKI kernel: it lacks the decorator @nki.jit.")
    call = kernel.call(*arguments, **keywords)
    call.architecture = _chosen(architecture) or call.architecture
    traced = call.trace()
    traced.decide_loops(call.arrays)
    return _timed(traced.program, traced.log, lambda: traced.changes)


def _chosen(architecture: str | os.PathLike[str] | None) -> str | None:
    given = None if architecture is None else os.fspath(architecture)
    return None if given is None else _core.without_alias(chosen_architecture(given))


def _timed(
    program: Any,
    log: Sequence[int] = (),
    changes: Callable[[], list[Change] | None] = lambda: None,
) -> TimedKernel:
    timing = program.time(log=list(log))
    figures = {each.name: timing[each.name] for each in fields(TimedKernel) if each.name in timing}
    timed = TimedKernel(name=program.kernel, architecture=program.architecture, **figures)
    vars(timed).update(_program=program, _log=tuple(log), _changes=changes)
    return timed
