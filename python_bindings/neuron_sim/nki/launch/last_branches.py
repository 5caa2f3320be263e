"""Conditions on loop variables that choose Python values, read as the vendor's tracer reads them.

The older language's tracer runs the body of a loop once and both branches of an `if` on its
variable, the instructions of each under that condition. Python values know no condition: what the
last branch assigns holds in all iterations. neuron_sim decides such an `if` in each iteration, as
Python does. A kernel that passed its tests on hardware may make sense in the vendor's reading only
(tallharish/cs149-asst4, 5c6fe92: rows of the last chunk = height % chunks = 0), so one that cannot
be traced because a tile has no elements is traced again with that reading.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

from ..syntax.places import kernel_frame, warn_at
from ..syntax.source import syntax_at

_PURE = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Compare, ast.IfExp)


class LoopNumber(int):
    """The value of a loop's variable. A comparison that is the condition of an `if` whose branches
    only assign Python values is true or false such that the last branch runs."""

    def __rsub__(self, other: Any) -> Any:
        return -1 * self + other


def _compared(compare: Callable) -> Callable:
    def method(self: LoopNumber, other: Any) -> Any:
        decided = _decided()
        return compare(int(self), other) if decided is None else decided

    return method


def _computed(compute: Callable) -> Callable:
    def method(self: LoopNumber, other: Any) -> Any:
        value = compute(int(self), other)
        return LoopNumber(value) if type(value) is int else value

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(LoopNumber, f"__{_name}__", _compared(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(LoopNumber, f"__{_name}__", _computed(getattr(operator, _name)))
for _name in ("add", "mul"):
    setattr(LoopNumber, f"__r{_name}__", _computed(getattr(operator, _name)))


def _decided() -> bool | None:
    """The truth of the comparison that the kernel makes now, None for an ordinary one."""
    frame = kernel_frame()
    if frame is None:
        return None
    syntax, node = syntax_at(frame)
    statement = syntax.parent(node) if syntax is not None and node is not None else None
    if not isinstance(statement, ast.If) or statement.test is not node:
        return None
    if not all(_assigns_values(each) for each in (*statement.body, *statement.orelse)):
        return None
    text = (
        f"the branches of `if {ast.unparse(statement.test)}` only assign Python values, and the "
        "kernel cannot be traced with those of each iteration; as by the vendor's compiler, which "
        "traces both branches once, the last one's values hold in all iterations."
    )
    warn_at(frame, text, statement.lineno)
    return not statement.orelse


def _assigns_values(statement: ast.stmt) -> bool:
    """Whether a statement gives names values that it computes without calls."""
    if not isinstance(statement, ast.Assign):
        return False
    named = all(isinstance(each, ast.Name) for each in statement.targets)
    parts = [each for each in ast.walk(statement.value) if isinstance(each, ast.expr)]
    return named and all(isinstance(each, _PURE) for each in parts)
