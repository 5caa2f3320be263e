"""Vectors as matrices: a partition gets a row of elements side by side instead of a single one."""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Iterator
from typing import Any

from neuron_sim.timeline.changes import Trial

from .calls import altered
from .constants import divisors
from .results import Sample
from .sources import Source, rewritten, source_of

_ROW_BYTES = 4096
"""Bytes in one piece that saturate a DMA engine, by the lesson of the trial."""


def row_trials(kernel: Any) -> Iterator[Trial]:
    """The vectors that are all arguments of a kernel, as matrices of the longest rows of a size
    that DMA engines move at their full rate, and tiles of one column as wide as these."""
    source, inputs = source_of(kernel.call), kernel.call.inputs
    partitions = int(kernel.source.facts["limits.partitions"]["value"])
    if source is None or len({each.shape for each in inputs}) != 1 or len(inputs[0].shape) != 1:
        return
    (size,), longest = inputs[0].shape, _ROW_BYTES // max(each.dtype.itemsize for each in inputs)
    widths = (each for each in divisors(size) if each <= longest and size // each >= partitions)
    if (width := max(widths, default=1)) == 1:
        return
    changed = functools.cache(functools.partial(_with_rows, kernel.call, source, size, width))
    columns = _single_columns(source)
    tiles = " and ".join(dict.fromkeys(str(each.lineno) for each in columns))
    yield Trial(
        "Rows instead of single elements",
        f"reshape {', '.join(each.name for each in inputs)} to [{size // width}, {width}]"
        + (f", with {width} columns instead of 1 for the tiles of lines {tiles}" if columns else "")
        + ", so that a partition gets its elements in one piece.",
        "nki/deep-dives/nki-dma-bandwidth-guide.rst: at least 2 KiB in one piece",
        lambda: changed().program,
        f"{source.file}:{columns[0].lineno}" if columns else "",
        lambda: Sample(kernel).equals(changed()),
        is_for_callers=True,
    )


def _with_rows(call: Any, source: Source, size: int, width: int) -> Any:
    edits = [(each, each, str(width)) for each in _single_columns(source)]
    inputs = [copy.copy(each) for each in call.inputs]
    for each in inputs:
        each.shape = (size // width, width)
    wider = rewritten(call, source, edits, f"rows of {width}")
    return altered(wider, inputs=inputs).trace_anew()


def _single_columns(source: Source) -> list[ast.Constant]:
    """The 1 of each shape (rows, 1) of a tile that the kernel makes."""
    shapes = [
        each
        for call in ast.walk(source.own)
        if isinstance(call, ast.Call)
        for each in (*call.args[:1], *(word.value for word in call.keywords if word.arg == "shape"))
    ]
    last = [each.elts[-1] for each in shapes if isinstance(each, ast.Tuple) and len(each.elts) == 2]
    return [each for each in last if isinstance(each, ast.Constant) and each.value == 1]
