"""Tensors in HBM in the order in which a kernel reads them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from neuron_sim import _core
from neuron_sim.timeline.changes import Trial

_MOST_LINES = 2


def layout_trials(kernel: Any) -> Iterator[Trial]:
    """The lines that move most bytes, as if what they load lay in the order of their reads."""
    shares = [each for each in kernel.program.shares_by_source() if each["source"]]
    settings = _core.published_stacks()[kernel.stack]["settings"]
    shares.sort(key=lambda each: -each["dma_bytes"])
    for each in shares[:_MOST_LINES]:
        line = each["source"]
        yield Trial(
            "Elements side by side in HBM",
            "pass the tensor of {line} transposed, so that what a partition gets lies in a row; or "
            "load its rows and transpose the tile on the Tensor engine (nc_transpose).",
            "nki/deep-dives/nki-dma-bandwidth-guide.rst: contiguous elements",
            functools.partial(_dense, kernel.source, line, settings),
            line,
            is_for_callers=True,
        )


def _dense(source: Any, line: str, settings: dict[str, Any]) -> Any:
    changed = _core.with_dense_loads(source, line)
    return changed and _core.compile_program(changed, settings)
