"""Findings of the sanitizer in operators of PyTorch: which operator, called from which line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from neuron_sim.calling_place import calling_line


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
