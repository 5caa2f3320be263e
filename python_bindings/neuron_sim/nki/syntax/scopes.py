"""Scopes in the source of a function: blocks whose variables are read outside, and globals.

A `for`, or an `if` on a loop's variable, is a block; a compile-time `if` is not.
"""

import ast
import functools
from types import CodeType
from typing import Any

from .names import uses, uses_within
from .source import syntax_of

Lines = tuple[int, int, str]
"""First and last line of a block, and what opens it."""
LOOP, _IF = "a loop", "an `if` on a loop's variable"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@functools.cache
def assigned_globals(code: CodeType) -> tuple[str, ...]:
    """Names of the module's variables that a code assigns to."""
    syntax = syntax_of(code)
    if syntax is None or syntax.function is None:
        return tuple(sorted(code.co_names))  # and those that it only reads
    assigned = (each for each in uses_within(syntax.function) if each.stores)
    return tuple(sorted({each.name for each in assigned if each.declared == "global"}))


@functools.cache
def leaking(code: CodeType) -> dict[str, list[Lines]]:
    """Variables that are read outside of a block that assigns them: the lines of those blocks."""
    syntax = syntax_of(code)
    function = None if syntax is None else syntax.function
    if not isinstance(function, ast.FunctionDef):
        return {}
    assigned: dict[str, set[Lines]] = {}
    read: dict[str, list[int]] = {}
    _visit(function.body, None, frozenset(), assigned, read)
    result: dict[str, list[Lines]] = {}
    for name, blocks in assigned.items():
        for lines in blocks:
            if any(not lines[0] <= line <= lines[1] for line in read.get(name, ())):
                result.setdefault(name, []).append(lines)
    return result


def _visit(
    statements: list[Any],
    block: Lines | None,
    variables: frozenset,
    assigned: dict[str, set[Lines]],
    read: dict[str, list[int]],
) -> None:
    """Notes what a block's own statements assign, and where names are read in it.

    `variables`: of the loops around the statements.
    """
    for statement in statements:
        is_function = isinstance(statement, _FUNCTIONS)
        bodies = [] if is_function else _blocks(statement)
        inner = {id(each) for body in bodies for each in body}
        own = [
            child
            for child in ast.iter_child_nodes(statement)
            if id(child) not in inner and not isinstance(child, ast.ExceptHandler)
        ]
        for use in uses(own if bodies else (statement,)):
            if not use.stores:
                read.setdefault(use.name, []).append(use.node.lineno)  # type: ignore[attr-defined]
            elif block is not None and isinstance(statement, ast.Assign | ast.AnnAssign):
                assigned.setdefault(use.name, set()).add(block)
        around = variables
        opens = isinstance(statement, ast.For)
        if isinstance(statement, ast.For):
            around = variables | _names(statement.target)
        elif isinstance(statement, ast.If):
            opens = bool(_names(statement.test) & variables)
        for body in bodies:
            what = LOOP if isinstance(statement, ast.For) else _IF
            lines = (body[0].lineno, body[-1].end_lineno, what) if opens else block
            _visit(body, lines, around, assigned, read)


def _names(expression: ast.AST) -> frozenset:
    return frozenset(node.id for node in ast.walk(expression) if isinstance(node, ast.Name))


def _blocks(statement: ast.stmt) -> list[list[Any]]:
    """The lists of statements in a statement."""
    bodies = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
    bodies += [handler.body for handler in getattr(statement, "handlers", [])]
    return [body for body in bodies if isinstance(body, list) and body]
