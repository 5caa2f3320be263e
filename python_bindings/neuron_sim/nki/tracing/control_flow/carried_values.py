"""Python values that a loop's body changes from one iteration to the next.

A counted loop is traced once, so that such a value would keep its first iteration's value in all of
them. The loop is unrolled instead, and a warning says what the vendor's compiler does.
"""

import ast
import warnings
from types import CodeType, FrameType
from typing import Any

from ...syntax.names import Use, uses
from ...syntax.source import Syntax, syntax_at
from ..tensor import Tensor
from .python_state import PLAIN, contents

_ABSENT = object()
_ADDING = ("append", "extend", "add")
_candidates: dict[tuple[CodeType, int], tuple[str, ...]] = {}


class HandedOn:
    """What the variables of a frame hold that a loop's body may hand to its next iteration."""

    __slots__ = ("_frame", "_held", "_storages")

    def __init__(self, frame: FrameType | None) -> None:
        """`frame`: the one that the loop is in, where it asks for the first iteration."""
        self._frame = frame
        self._held: dict[str, Any] = {}
        self._storages: dict[str, Any] = {}
        if frame is None:
            return
        code, outer = frame.f_code, frame.f_globals
        names = _candidates.get((code, frame.f_lasti))
        if names is None:
            syntax, node = syntax_at(frame)
            if syntax is None or node is None:  # all that have a value
                names = (*frame.f_locals, *(each for each in code.co_names if each in outer))
            else:
                names = _candidates[code, frame.f_lasti] = _names_of(syntax, node)
        values = frame.f_locals if names else {}
        # Objects and functions from outside the kernel may hold state that it does not use.
        own = (*code.co_varnames, *code.co_cellvars) if names else ()
        for name in names:
            value = values[name] if name in values else outer.get(name, _ABSENT)
            if type(value) is Tensor:
                self._storages[name] = value.storage
            elif name in own or type(value) in PLAIN or type(value) in (list, dict):
                held = contents(value)
                if held is not None:
                    self._held[name] = held

    def changed(self) -> str:
        """The first variable that the body has changed; "" when there is none."""
        if self._frame is None or not (self._held or self._storages):
            return ""
        now, outer = self._frame.f_locals, self._frame.f_globals
        for name, held in self._held.items():
            value = now[name] if name in now else outer.get(name, _ABSENT)
            if value is not _ABSENT and contents(value) != held:
                return name
        for name, storage in self._storages.items():
            value = now.get(name)
            if type(value) is Tensor and value.storage is not storage:
                # A tile of before the loop under another name; a new one is not handed on.
                known = value.storage is not None
                if known and any(value.storage is each for each in self._storages.values()):
                    return name
        return ""


def warn(frame: FrameType, name: str) -> None:
    """Warns that the vendor's compiler would see only one value."""
    warnings.warn_explicit(
        f"'{name}' changes from one iteration of a loop to the next, and the loop is unrolled for "
        "it; the vendor's compiler traces the body once, with the first value in all iterations: "
        "use the loop's variable, or nl.static_range.",
        UserWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _names_of(syntax: Syntax, node: ast.AST) -> tuple[str, ...]:
    """Variables that the body of a loop reads before it assigns to them, not only to change
    themselves. `node`: the loop, or what it iterates over; versions of Python differ."""
    parent = syntax.parent(node)
    loop = parent if isinstance(parent, ast.For) and parent.iter is node else node
    if not isinstance(loop, ast.For):
        return ()
    read_first: dict[str, bool] = {}
    used = set()
    for use in uses((loop.target, *loop.body)):
        read_first.setdefault(use.name, not use.stores)
        if not use.stores and not _only_updates(syntax, use):
            used.add(use.name)
    return tuple([name for name, first in read_first.items() if first and name in used])


def _only_updates(syntax: Syntax, use: Use) -> bool:
    """Whether a read is that of `x += 1`, or of `x.append(...)`, which nothing in the loop sees."""
    parent = syntax.parent(use.node)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _ADDING
    if isinstance(parent, ast.AugAssign):
        return parent.target is use.node and _is_constant(parent.value)
    if not isinstance(parent, ast.BinOp) or parent.left is not use.node:
        return False
    statement = syntax.parent(parent)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [each.id for each in targets if isinstance(each, ast.Name)]
    return names == [use.name] and len(targets) == 1 and _is_constant(parent.right)


def _is_constant(expression: ast.AST) -> bool:
    kinds = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.unaryop, ast.operator)
    return all(isinstance(each, kinds) for each in ast.walk(expression))
