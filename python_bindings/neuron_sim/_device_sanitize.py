"""Findings of the sanitizer in operators of PyTorch: which operator, called from which line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_LIBRARIES = tuple(
    os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep
    for module in (torch, sys.modules["neuron_sim"])
)


class OperatorFindings(TorchDispatchMode):
    """While entered, findings of an operator's launches are attributed to that operator.

    `active` gives the block that takes findings, or None; `taken` the new findings, with fields
    replaced.
    """

    def __init__(self, active: Callable[[], Any], taken: Callable[..., list]) -> None:
        super().__init__()
        self._active, self._taken = active, taken

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Compiled graphs are checked as they run, not while they are captured."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        block = self._active()
        if block is not None:
            found = self._taken(operator=func.name(), source_line=calling_line())
            if found:
                block.add(found)
        return result


def calling_line() -> str:
    """`file:line` of the innermost frame outside torch and this package; "" without one, as in
    a backward pass on one of PyTorch's threads."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = os.path.abspath(frame.f_code.co_filename)
        if not file.startswith(_LIBRARIES) and os.path.isfile(file):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
