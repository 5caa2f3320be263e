"""Iterations of affine_range that write the same memory: err_unexpected_output_dependencies."""

import linecache
import re
from types import CodeType
from typing import Any

from ...syntax.loops import variable_at
from ...syntax.places import kernel_frame


class OutputDependencies(ValueError):
    """An error of the loop as written, whatever the kernel does when it is unrolled."""


def output_dependencies(loop: Any, target: Any) -> OutputDependencies:
    """err_unexpected_output_dependencies."""
    code, step = loop.key
    name = isinstance(code, CodeType) and variable_at(code, step) or loop.name
    return OutputDependencies(
        f"Unexpected output dependencies, different iterations of {name} loop write to "
        f"`{_written(target)}`"
    )


def _written(target: Any) -> str:
    """What the kernel's line assigns or stores to, `a[0]`; the tensor when it cannot be read."""
    frame = kernel_frame()
    line = "" if frame is None else linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    name = re.escape(target.name)
    found = re.search(rf"\b{name}\[[^\[\]]*\](?=\s*[=,])", line)
    return found.group(0) if found else target.name
