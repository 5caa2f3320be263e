"""Nested loops in the other order: what the inner one does not change is loaded once for it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from typing import Any

from neuron_sim.timeline.changes import Trial, place

from .results import Sample
from .sources import Source, rewritten, source_of

_INDEPENDENT = "affine_range"
_RANGES = (_INDEPENDENT, "static_range", "range")


def order_trials(kernel: Any) -> Iterator[Trial]:
    """Each two loops of which the inner one is all that the outer one repeats, exchanged in the
    source. Loops whose iterations the kernel does not call independent must keep its results."""
    source = source_of(kernel.call)
    if source is None:
        return
    sample = Sample(kernel)
    for outer, inner in _nests(source):
        changed = functools.cache(functools.partial(_exchanged, kernel.call, source, outer, inner))
        line = f"{source.file}:{outer.lineno}"
        yield Trial(
            "Loops in another order",
            f"exchange the loops of {{line}} and of {place(f'{source.file}:{inner.lineno}')}, so "
            "that what the inner one does not change is loaded once for all its iterations.",
            "nki/guides/tutorials/fused_mamba.rst: loop reordering",
            functools.partial(_program, changed),
            line,
            functools.partial(_holds, sample, changed, outer, inner),
        )


def _program(changed: Callable[[], Any]) -> Any:
    return changed().program


def _holds(sample: Sample, changed: Callable[[], Any], outer: ast.For, inner: ast.For) -> bool:
    return _range_of(outer) == _range_of(inner) == _INDEPENDENT or sample.equals(changed())


def _nests(source: Source) -> Iterator[tuple[ast.For, ast.For]]:
    """(outer, inner) loops of the kernel over ranges, each header in one line."""
    for outer in ast.walk(source.own):
        if isinstance(outer, ast.For) and len(outer.body) == 1 and _range_of(outer):
            (inner,) = outer.body
            if isinstance(inner, ast.For) and _range_of(inner):
                changed = {each.id for each in ast.walk(outer.target) if isinstance(each, ast.Name)}
                read = {each.id for each in ast.walk(inner.iter) if isinstance(each, ast.Name)}
                if not changed & read and not outer.orelse and not inner.orelse:
                    yield outer, inner


def _range_of(loop: ast.For) -> str:
    """The name of the range that a loop runs over; empty for other loops."""
    if not isinstance(loop.iter, ast.Call) or loop.lineno != loop.iter.end_lineno:
        return ""
    called = loop.iter.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name if name in _RANGES else ""


def _exchanged(call: Any, source: Source, outer: ast.For, inner: ast.For) -> Any:
    """The traced kernel of a call in whose source each loop has the other one's header."""
    first, second = (
        f"{ast.get_source_segment(source.text, each.target)} in "
        f"{ast.get_source_segment(source.text, each.iter)}"
        for each in (outer, inner)
    )
    edits = [(outer.target, outer.iter, second), (inner.target, inner.iter, first)]
    change = f"lines {outer.lineno} and {inner.lineno} exchanged"
    return rewritten(call, source, edits, change).trace_anew()
