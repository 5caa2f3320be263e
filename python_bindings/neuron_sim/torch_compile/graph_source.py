"""The source lines of a compiled graph's instructions: module, operator and line of the model.

"layers.0.attention: aten::addmm, /home/me/model.py:12"; the module is "(model)" for the compiled
one itself, and without a line in a file of the user the text ends with the operator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from torch._ops import HigherOrderOperator

from neuron_sim.calling_place import users_file

_TEXT = re.compile(r"(?P<module>.*?): (?P<operator>[^\s,]+)(?:, (?P<line>.+:\d+))?")
_FRAME = re.compile(r'^ *File "(?P<file>.+)", line (?P<line>\d+)', re.MULTILINE)
_WHOLE = "(model)"


@dataclass(frozen=True)
class GraphSource:
    """Where an instruction of a compiled graph comes from."""

    module: str = ""
    """Path in the compiled module, "" for that one itself."""
    operator: str = ""
    """ "aten::addmm"; of kernels that were joined that of the product, norm or first one."""
    line: str = ""
    """`file:line` of the model."""

    def __str__(self) -> str:
        text = f"{self.module or _WHOLE}: {self.operator}"
        return f"{text}, {self.line}" if self.line else text

    @classmethod
    def parse(cls, text: str) -> GraphSource:
        """The source that a text states; an empty one for other texts."""
        found = _TEXT.fullmatch(text)
        if found is None:
            return cls()
        module = "" if found["module"] == _WHOLE else found["module"]
        return cls(module, found["operator"], found["line"] or "")


def source_of(node: Any) -> GraphSource:
    """The source of a node of torch.fx as TorchDynamo and AOTAutograd annotate it."""
    return GraphSource(_module_path(node), _operator(node), _line(node))


def _module_path(node: Any) -> str:
    """The innermost module that called the operator, by its name in the compiled one
    ("layers.0.attention")."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return ""
    path = list(stack.values())[-1][0]
    return re.sub(r"^L\['\w+'\]\.?", "", path)  # TorchDynamo's source: L['self'].layers.0


def _operator(node: Any) -> str:
    schema = getattr(node.target, "_schema", None)
    if schema is not None:
        return schema.name
    if isinstance(node.target, HigherOrderOperator):
        return str(node.name)  # of an NKI kernel its own
    return getattr(node.target, "__name__", str(node.target))


def _line(node: Any) -> str:
    """The innermost frame outside the libraries."""
    frames = _FRAME.finditer(node.meta.get("stack_trace") or "")
    known = [(users_file(frame["file"]), frame["line"]) for frame in frames]
    return next((f"{file}:{line}" for file, line in reversed(known) if file), "")
