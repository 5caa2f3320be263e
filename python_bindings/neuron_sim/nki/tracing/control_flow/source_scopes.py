"""Scopes that `if`, `else` and `for` open in the source of a kernel of the old language.

A tensor that is assigned to a variable in the body of a `for`, or of an `if` on a loop's variable,
lives in that block only; a compile-time `if` is not a block (public kernels rely on it).
Python knows no such scope: it matters for variables read outside of a block that assigns them.
"""

import ast
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from ...syntax.names import uses
from ...syntax.source import syntax_of

_Lines = tuple[int, int, str]  # first, last, what opens the block
_LOOP, _IF = "a loop", "an `if` on a loop's variable"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_leaks: dict[CodeType, dict[str, list[_Lines]]] = {}


@dataclass(slots=True, eq=False)
class BlockScope:
    """The lines of a block of some code; `scope`: the number of the scope around it."""

    scope: int
    code: CodeType
    lines: _Lines

    def holds(self, frame: FrameType | None) -> bool:
        """Whether the code of the block is inside of it now; True when it does not run."""
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        return frame is None or self._holds(frame.f_lineno)

    def holds_line(self, line: str) -> bool:
        """Whether it holds a line `file:line` of the kernel; True for lines of other functions."""
        file, _, number = line.rpartition(":")
        is_own = file == self.code.co_filename and _has_line(self.code, int(number))
        return not is_own or self._holds(int(number))

    def _holds(self, line: int) -> bool:
        return self.lines[0] <= line <= self.lines[1]


def _has_line(code: CodeType, line: int) -> bool:
    """Whether a line is one of a function's own, not of a function that it defines."""
    if not code.co_firstlineno <= line <= _last_line(code):
        return False
    return not any(isinstance(each, CodeType) and _has_line(each, line) for each in code.co_consts)


def _last_line(code: CodeType) -> int:
    inner = [_last_line(each) for each in code.co_consts if isinstance(each, CodeType)]
    return max([*inner, *(line for _, _, line in code.co_lines() if line is not None)])


def error(storage: Any) -> ValueError:
    """err_local_variable_used_out_of_scope."""
    block = storage.scope.lines[2] if isinstance(storage.scope, BlockScope) else _LOOP
    return ValueError(
        f"Local variable '{storage.name}' is referenced outside of its parent scope: tensors "
        f"defined in {block} live in its body only."
    )


def scope_at(scope: int, place: tuple, names: dict[str, Any] | None = None) -> int | BlockScope:
    """The scope of a tensor that is assigned at a place (see assignments.place_of)."""
    line, name, _, code, _ = place
    if not name:
        return scope
    leaks = _leaks.get(code)
    if leaks is None:
        leaks = _leaks[code] = leaking(code, names)
    if name not in leaks:
        return scope
    number = int(line.rpartition(":")[2])
    around = [lines for lines in leaks[name] if lines[0] <= number <= lines[1]]
    return BlockScope(scope, code, max(around)) if around else scope


def leaking(code: CodeType, names: dict[str, Any] | None = None) -> dict[str, list[_Lines]]:
    """Variables that are read outside of a block that assigns them: the lines of those blocks."""
    syntax = syntax_of(code, names)
    function = None if syntax is None else syntax.function
    if not isinstance(function, ast.FunctionDef):
        return {}
    assigned: dict[str, set[_Lines]] = {}
    read: dict[str, list[int]] = {}
    _visit(function.body, None, frozenset(), assigned, read)
    result: dict[str, list[_Lines]] = {}
    for name, blocks in assigned.items():
        for lines in blocks:
            if any(not lines[0] <= line <= lines[1] for line in read.get(name, ())):
                result.setdefault(name, []).append(lines)
    return result


def _visit(
    statements: list[Any],
    block: _Lines | None,
    variables: frozenset,
    assigned: dict[str, set[_Lines]],
    read: dict[str, list[int]],
) -> None:
    """Notes what a block's own statements assign, and where names are read in it.

    `variables`: of the loops around the statements.
    """
    for statement in statements:
        is_function = isinstance(statement, _FUNCTIONS)
        bodies = [] if is_function else _blocks(statement)
        inner = {id(each) for body in bodies for each in body}
        own = statement if is_function else _without(statement, inner)
        for use in uses((own,)):
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
            what = _LOOP if isinstance(statement, ast.For) else _IF
            lines = (body[0].lineno, body[-1].end_lineno, what) if opens else block
            _visit(body, lines, around, assigned, read)


def _names(expression: ast.AST) -> frozenset:
    return frozenset(node.id for node in ast.walk(expression) if isinstance(node, ast.Name))


def _blocks(statement: ast.stmt) -> list[list[Any]]:
    """The lists of statements in a statement."""
    bodies = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
    bodies += [handler.body for handler in getattr(statement, "handlers", [])]
    return [body for body in bodies if isinstance(body, list) and body]


def _without(statement: ast.stmt, inner: set[int]) -> ast.AST:
    """The statement's own expressions."""
    own = ast.Module(body=[], type_ignores=[])
    for child in ast.iter_child_nodes(statement):
        if id(child) not in inner and not isinstance(child, ast.ExceptHandler):
            own.body.append(child)  # type: ignore[arg-type]
    return own
