"""Element-wise work on another engine."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from typing import Any

from neuron_sim import _core
from neuron_sim.timeline.changes import Trial

_ENGINES = ("Vector", "Scalar", "GpSimd")
_MOST_LINES = 3
_LEAST_SHARE = 0.05
"""Part of the critical path from which a line is worth a trial."""


def engine_trials(kernel: Any) -> Iterator[Trial]:
    """The lines with most element-wise work on the critical path, on each other engine."""
    settings = kernel.settings
    for line, engine in _busiest(kernel.program):
        for other in _ENGINES:
            if other != engine:
                yield Trial(
                    f"Element-wise work on {other} instead of {engine}",
                    f"name the engine of {{line}}: engine=nki.isa.{other.lower()}_engine of the "
                    "functions of nki.isa.",
                    "nki/deep-dives/nki_perf_guide.rst: Opt #3",
                    functools.partial(_moved, kernel.source, line, other, settings),
                    line,
                )


def _busiest(program: Any) -> list[tuple[str, str]]:
    """(line, engine) of most element-wise time on the critical path."""
    spent: Counter[tuple[str, str]] = Counter()
    for share in program.shares_by_source():
        for name, time in share["path_us"].items():
            engine = name.partition(" ")[0]
            if engine in _ENGINES and share["source"]:
                spent[share["source"], engine] += time
    least = _LEAST_SHARE * program.time()["body_us"]
    return [key for key, time in spent.most_common(_MOST_LINES) if time >= least]


def _moved(source: Any, line: str, engine: str, settings: dict[str, Any]) -> Any:
    changed = _core.on_engine(source, line, engine)
    return changed and _core.compile_program(changed, settings)
