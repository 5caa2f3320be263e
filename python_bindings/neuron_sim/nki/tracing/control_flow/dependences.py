"""Iterations of affine_range that write the same memory: err_unexpected_output_dependencies."""

import ast
import linecache
import re
from types import CodeType
from typing import Any

from ...syntax.names import uses
from ...syntax.source import syntax_of
from ..errors import kernel_frame


class OutputDependencies(ValueError):
    """An error of the loop as written, whatever the kernel does when it is unrolled."""


def output_dependencies(loop: Any, target: Any) -> OutputDependencies:
    """err_unexpected_output_dependencies."""
    return OutputDependencies(
        f"Unexpected output dependencies, different iterations of {_variable(loop)} loop write to "
        f"`{_written(target)}`"
    )


def _written(target: Any) -> str:
    """What the kernel's line assigns or stores to, `a[0]`; the tensor when it cannot be read."""
    frame = kernel_frame()
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
