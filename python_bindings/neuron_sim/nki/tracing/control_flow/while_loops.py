"""`while register:` in a kernel, as in the vendor's parser: a loop on chip.

Python tests the truth of the register before the first iteration and again after the body. The
first test opens the loop and is answered with True, so that the body is traced once; the second
closes it and is answered with False. Nothing in the kernel is rewritten: line numbers, closures and
debuggers see what the user wrote.
"""

import ast
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

from ...syntax.source import syntax_at
from ..active import current

_REGISTERS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.NamedExpr)
"""Conditions that can be a register; operators test the truth of their parts."""

ON_TENSOR = {
    "old": "Traditional while loops are not supported - use do-while pattern instead. (Loops that "
    "depend on data are not there in the old language.)",
    "new": "the condition of a `while` loop on chip is a register: load the tensor with "
    "nisa.register_load, before the loop and at the end of its body.",
}
"""The message for a tensor as the condition of a `while` statement, by language."""


def asks(frame: FrameType) -> bool:
    """Whether a frame tests the truth of the condition of a `while` statement."""
    return _tested_at(frame) is not None


def truth(register: Any) -> bool:
    """Whether the body of the `while` statement that asks is to be traced (now, or once more)."""
    frame: FrameType = sys._getframe(2)
    statement = _tested_at(frame)
    if statement is None or not isinstance(statement.test, _REGISTERS):
        register._no_number()
    control = current().control
    innermost = control.loops[-1] if control.loops else None
    place = (frame, statement)
    if innermost is None or innermost.place is None or not _same(innermost.place, place):
        if any(loop.place is not None and _same(loop.place, place) for loop in control.loops):
            raise control.left_early(control.loops[-1])
        control.check_order("a `while` loop on a register")
        _check_exits(() if statement is None else statement.body)
        at = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        current().noted.append(("LO-DYNGONE", at, "a `while` loop on a register"))
        control.open_while(register, place)
        return True
    end(innermost, register)
    return False


def end(loop: Any, register: Any) -> None:
    """The end of a body whose next condition is `register`."""
    trace = current()
    replaced = register is not loop.register
    if replaced:
        trace.builder.register_move(loop.register.index, src_register=register.index)
    trace.control.close(loop)
    if replaced:  # it holds the condition that ended the loop, also when there was no iteration
        trace.builder.register_move(register.index, src_register=loop.register.index)


def _same(a: tuple, b: tuple) -> bool:
    return a[0] is b[0] and a[1] == b[1]


def _tested_at(frame: FrameType) -> ast.While | None:
    """The `while` statement whose whole condition a frame tests.

    Some versions of Python give the position of the condition, others that of the statement.
    """
    syntax, node = syntax_at(frame)
    if syntax is not None and node is not None and not isinstance(node, ast.While):
        condition, node = node, syntax.parent(node)
        if isinstance(node, ast.While) and node.test is not condition:
            return None
    return node if isinstance(node, ast.While) else None


def _check_exits(nodes: Iterable[ast.AST], is_nested: bool = False) -> None:
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
            _check_exits(node.body, True)
            _check_exits(node.orelse, is_nested)
        elif not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            _check_exits(ast.iter_child_nodes(node), is_nested)
