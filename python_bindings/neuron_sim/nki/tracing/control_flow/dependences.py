"""Iterations of affine_range that write the same memory: err_unexpected_output_dependencies."""

import ast
import linecache
import re
from math import prod
from types import CodeType
from typing import Any

from ...syntax.names import uses
from ...syntax.source import syntax_of
from ..errors import kernel_frame


class OutputDependencies(ValueError):
    """An error of the loop as written, whatever the kernel does when it is unrolled."""


def shared_loop(trace: Any, target: Any) -> Any:
    """The innermost affine_range whose iterations all begin with a write to `target`, or None.

    None as well when the body used the tensor before: then it may continue what came before, such
    as a sum. Tensors made in the body are fresh in each iteration, and so is a tile that the write
    covers, unless the kernel places it: no iteration sees what another one left in it. The vendor's
    example of the error writes one block of four (nki.errors, SDK 2.26); a convolution whose loops
    over the filter load the whole tile of weights again passed its tests on trn1
    (echen4628/cs149-asst4, 648a0f3).
    """
    storage = target.storage
    if _covers_tile(target) and not trace.allocation.directly:
        return None
    for loop in reversed(trace.loops):
        if storage.made_at >= loop.opened_at or storage.last_use > loop.opened_at:
            return None
        if loop.kind == "affine" and not _depends(target, loop):
            return loop
    return None


def _covers_tile(target: Any) -> bool:
    """Whether a tensor is all of a tile."""
    shape = target.storage.shape
    return target.axis is not None and target.size == prod(shape) and target.index is None


def _depends(target: Any, loop: Any) -> bool:
    """Whether the address of a tensor depends on a loop, or on run-time values."""
    if target.index is not None or target.register is not None:
        return True
    return any(
        type(address) is not int and loop in address.terms
        for address in (target.start, target.partition)
    )


def output_dependencies(loop: Any, target: Any) -> OutputDependencies:
    """err_unexpected_output_dependencies."""
    return OutputDependencies(
        f"Unexpected output dependencies, different iterations of {_variable(loop)} loop write to "
        f"`{_written(target)}`"
    )


def _written(target: Any) -> str:
    """What the kernel's line assigns or stores to, `a[0]`; the tensor when it cannot be read."""
    frame = kernel_frame(2)
    line = "" if frame is None else linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    name = re.escape(target.name)
    found = re.search(rf"\b{name}\[[^\[\]]*\](?=\s*[=,])", line)
    return found.group(0) if found else target.name


def line_of(key: tuple) -> str:
    """`file:line` of a loop by its key; "" of one that is not in the source."""
    code, step = key
    if not isinstance(code, CodeType):
        return ""
    line = next((line for first, end, line in code.co_lines() if first <= step < end), None)
    return f"{code.co_filename}:{line}" if line else ""


def _variable(loop: Any) -> str:
    """The name of a loop's variable in the kernel."""
    code, step = loop.key
    syntax = syntax_of(code) if isinstance(code, CodeType) else None
    node = None if syntax is None else syntax.node_at(step)
    while syntax is not None and node is not None:
        parent = syntax.parent(node)
        if isinstance(parent, ast.For | ast.comprehension) and parent.iter is node:
            return next((each.name for each in uses((parent.target,))), loop.name)
        node = parent
    return loop.name
