"""Loops in the source of a function: their statements, how they are left, what they hand on."""

import ast
import functools
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from .names import Use, uses
from .source import Syntax, syntax_at, syntax_of

_ADDING = ("append", "extend", "add")


def _loop_at(code: CodeType, step: int) -> tuple[Syntax | None, ast.For | ast.comprehension | None]:
    """The loop whose iterator an instruction makes or advances; None without a source or a loop."""
    syntax = syntax_of(code)
    node = None if syntax is None else syntax.node_at(step)
    while syntax is not None and isinstance(node, ast.expr):
        parent = syntax.parent(node)
        if isinstance(parent, ast.For | ast.comprehension) and parent.iter is node:
            return syntax, parent
        node = parent
    return syntax, node if isinstance(node, ast.For) else None


def variable_at(code: CodeType, step: int) -> str:
    """The first variable of the loop whose iterator an instruction makes; "" when unknown."""
    _, loop = _loop_at(code, step)
    return "" if loop is None else next((each.name for each in uses((loop.target,))), "")


@functools.cache
def handed_on(code: CodeType, step: int) -> tuple[str, ...] | None:
    """Variables that the body of a loop reads before it assigns to them, not only to change
    themselves. None where the source is unknown. `step`: of an instruction of the loop."""
    syntax, loop = _loop_at(code, step)
    if syntax is None or syntax.node_at(step) is None:
        return None
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


def line_at(code: Any, step: int) -> str:
    """`file:line` of an instruction of a code; "" of anything that is no code."""
    if not isinstance(code, CodeType):
        return ""
    line = next((line for first, end, line in code.co_lines() if first <= step < end), None)
    return f"{code.co_filename}:{line}" if line else ""


def is_left_by_jump(frame: FrameType | None) -> bool:
    """Whether a loop of a frame ends by break or return, not by an exception: that drops its
    iterator at the node that raised. True also where it is not known: the trace that follows fails
    as this one."""
    syntax, node = (None, None) if frame is None else syntax_at(frame)
    if syntax is None or node is None:
        return True
    parent = syntax.parent(node)
    if isinstance(node, ast.Constant) and isinstance(parent, ast.Return):
        return True
    if isinstance(node, ast.Break | ast.Return | ast.With) or isinstance(parent, ast.withitem):
        return True  # a `with` is left before the iterator is dropped
    while node is not None and not isinstance(node, ast.For):
        parent = syntax.parent(node)
        if isinstance(parent, ast.Try) and node in parent.finalbody:  # so is a `try`
            return True
        node = parent
    return False


def tested_while(frame: FrameType) -> ast.While | None:
    """The `while` statement whose whole condition a frame tests.

    Python reports the position of the condition or of the statement, depending on its version.
    """
    syntax, node = syntax_at(frame)
    if syntax is not None and node is not None and not isinstance(node, ast.While):
        condition, node = node, syntax.parent(node)
        if isinstance(node, ast.While) and node.test is not condition:
            return None
    return node if isinstance(node, ast.While) else None


def check_exits(nodes: Iterable[ast.AST], is_nested: bool = False) -> None:
    """ValueError for statements that leave the loop other than by its condition. `is_nested`: in a
    loop whose `break` is its own."""
    for node in nodes:
        if isinstance(node, ast.Return) or (isinstance(node, ast.Break) and not is_nested):
            word = "return" if isinstance(node, ast.Return) else "break"
            raise ValueError(
                f"`{word}` in line {node.lineno} would leave a `while` loop on a register, which "
                "ends by its condition only."
            )
        if isinstance(node, ast.For | ast.While):
            check_exits(node.body, True)
            check_exits(node.orelse, is_nested)
        elif not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            check_exits(ast.iter_child_nodes(node), is_nested)
