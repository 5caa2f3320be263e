"""`while register:` in a kernel, as in the vendor's parser: a loop on chip.

Python tests the truth of the register before the first iteration and again after the body. The
first test opens the loop and is answered with True, so that the body is traced once; the second
closes it and is answered with False. Nothing in the kernel is rewritten: line numbers, closures and
debuggers see what the user wrote.
"""

import ast
import sys
from types import FrameType
from typing import Any

from ...syntax.loops import check_exits, tested_while
from ...syntax.places import line_of
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
    return tested_while(frame) is not None


def truth(register: Any) -> bool:
    """Whether the body of the `while` statement that asks is to be traced (now, or once more)."""
    frame: FrameType = sys._getframe(2)
    statement = tested_while(frame)
    if statement is None or not isinstance(statement.test, _REGISTERS):
        register._no_number()
    control = current().control
    innermost = control.loops[-1] if control.loops else None
    place = (frame, statement)
    if innermost is None or innermost.place is None or not _same(innermost.place, place):
        if any(loop.place is not None and _same(loop.place, place) for loop in control.loops):
            raise control.left_early(control.loops[-1])
        control.check_order("a `while` loop on a register")
        check_exits(() if statement is None else statement.body)
        current().noted.append(("LO-DYNGONE", line_of(frame), "a `while` loop on a register"))
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
