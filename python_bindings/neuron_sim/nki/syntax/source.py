"""The syntax tree of code that runs: of the source that compiles to this very code.

A file may have changed since its import, and text that is executed need not be in any file. The
text that is found is therefore compiled again, and its tree counts only if the code is the same.
"""

import __future__

import ast
import itertools
import linecache
import warnings
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from .names import Function

Position = tuple[int | None, int | None, int | None, int | None]
"""First line, last line, first column, end column; columns in bytes."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUTURE = sum(getattr(__future__, each).compiler_flag for each in __future__.all_feature_names)

_trees: dict[str, tuple[list[str], ast.Module | None]] = {}
_statements: dict[tuple[ast.stmt, int], "_Statement"] = {}
_known: dict[int, tuple[CodeType, "Syntax | None"]] = {}  # by the code's id


class _Statement:
    """A statement of a module: its codes, the nodes at positions, and the parent of each node."""

    def __init__(self, module: ast.Module, statement: ast.stmt, flags: int):
        # Names that the module imports decide how their attributes are called.
        others = [each for each in module.body if not isinstance(each, _DEFINITIONS)]
        body = others if statement in others else [*others, statement]
        alone = ast.Module(body, type_ignores=[])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = compile(alone, "<source>", "exec", flags, dont_inherit=True)
        self.codes = set(_inner_codes(compiled))
        self.root = statement
        self.nodes: dict[Position, ast.AST] = {}
        self.calls: dict[tuple, ast.AST] = {}  # of methods in another line: by the method's name
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(statement):
            self.parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
            if isinstance(node, ast.stmt | ast.expr | ast.ExceptHandler | ast.pattern):
                self.nodes[_position(node)] = node  # the innermost one of several
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                method = node.func
                if method.end_lineno is not None and method.end_col_offset is not None:
                    column = method.end_col_offset - len(method.attr)
                    self.calls[method.end_lineno, column] = node

    def matches(self, code: CodeType) -> bool:
        """Whether a code is the statement's, but for assertions that pytest has rewritten."""
        if not _is_rewritten(code):
            return False
        asserted = {
            line
            for node in ast.walk(self.root)
            if isinstance(node, ast.Assert)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        outline = _outline(code, asserted)
        return any(
            each.co_firstlineno == code.co_firstlineno
            and _outline(each, asserted) == outline
            and _names(each) <= _names(code)
            for each in self.codes
        )


class Syntax:
    """The tree of a code object.

    `function`: the node whose code it is, None for a class or comprehension. `is_exact`: it
    compiles to this very code; otherwise pytest has rewritten the assertions in it.
    """

    def __init__(self, code: CodeType, statement: _Statement, is_exact: bool):
        self.code = code
        self.function = _function(statement.root, code)
        self.is_exact = is_exact
        self._statement = statement
        self._at: dict[int, ast.AST | None] = {}

    def node_at(self, step: int) -> ast.AST | None:
        """The node that an instruction, by its offset in bytes as in `f_lasti`, belongs to."""
        if step not in self._at:
            position = position_of(self.code, step)
            statement = self._statement
            node = statement.nodes.get(position)
            self._at[step] = node or statement.calls.get((position[0], position[2]))
        return self._at[step]

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that a node is a part of, up to the statement of the module."""
        return self._statement.parents.get(node)


def syntax_of(code: CodeType, names: dict[str, Any] | None = None) -> Syntax | None:
    """The tree of a code object; None where its source is unknown. `names`: its globals, through
    whose loader a file in an archive is read."""
    known = _known.get(id(code))
    if known is None:
        found = _found(code, names)
        if found is None:  # the file may be another one than when it was read
            linecache.checkcache(code.co_filename)
            found = _found(code, names)
        known = _known[id(code)] = (code, found)
    return known[1]


def syntax_at(frame: FrameType) -> tuple[Syntax | None, ast.AST | None]:
    """The tree of a frame's code and the node that it executes; None for what is unknown."""
    syntax = syntax_of(frame.f_code, frame.f_globals)
    return syntax, None if syntax is None else syntax.node_at(frame.f_lasti)


def position_of(code: CodeType, step: int) -> Position:
    """The place in the source of the instruction at an offset in bytes."""
    return next(itertools.islice(code.co_positions(), step // 2, None), (None,) * 4)


def _tree(file: str, names: dict[str, Any] | None) -> ast.Module | None:
    lines = linecache.getlines(file, names)
    known = _trees.get(file)
    if known is None or known[0] != lines:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                tree = ast.parse("".join(lines)) if lines else None
            except (SyntaxError, ValueError, RecursionError):
                tree = None
        known = _trees[file] = (lines, tree)
    return known[1]


def _found(code: CodeType, names: dict[str, Any] | None) -> Syntax | None:
    module, flags = _tree(code.co_filename, names), code.co_flags & _FUTURE
    for statement in module.body if module is not None else ():
        if not _first_line(statement) <= code.co_firstlineno <= (statement.end_lineno or 0):
            continue
        known = _statements.get((statement, flags))
        if known is None:
            try:
                known = _Statement(module, statement, flags)  # type: ignore[arg-type]
            except (SyntaxError, ValueError, RecursionError):
                return None
            _statements[statement, flags] = known
        is_exact = code in known.codes
        if is_exact or known.matches(code):
            return Syntax(code, known, is_exact)
    return None


def _function(statement: ast.stmt, code: CodeType) -> Function | None:
    """The function in a statement that a code belongs to."""
    functions = [
        node
        for node in ast.walk(statement)
        if isinstance(node, Function)
        and getattr(node, "name", "<lambda>") == code.co_name
        and _first_line(node) == code.co_firstlineno
    ]
    places = [((line, column), (last, end)) for line, last, column, end in code.co_positions()
              if line and last and column is not None and end is not None]  # fmt: skip

    def inside(node: Any) -> tuple:
        """How much of the code is in the body of a lambda, of which a line may have several."""
        body = node.body if isinstance(node, ast.Lambda) else node
        first, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
        return sum(first <= start and last <= end for start, last in places), first

    return max(functions, key=inside, default=None)


def _first_line(node: Any) -> int:
    """The line where the code of a definition begins: that of its first decorator."""
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])


def _position(node: Any) -> Position:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _inner_codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _inner_codes(each)


def _names(code: CodeType) -> set[str]:
    return {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}


def _is_rewritten(code: CodeType) -> bool:
    """Whether it, or a function in it, has names that pytest's assertions use and no source can."""
    codes = (code, *_inner_codes(code))
    return any(name.startswith("@py") for each in codes for name in _names(each))


def _outline(code: CodeType, without: set[int]) -> tuple:
    """Name, parameters, and the places of the instructions outside of some lines."""
    places = {each for each in code.co_positions() if each[0] not in without}
    count = code.co_argcount + code.co_kwonlyargcount
    return code.co_name, code.co_varnames[:count], frozenset(places)
