"""The source of a kernel that is a plain function of a file, and the kernel with another one."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from .calls import altered


class Source(NamedTuple):
    """The text of a file, its tree, and the kernel's node in it."""

    file: str
    text: str
    tree: ast.Module
    own: ast.FunctionDef


Edit = tuple[ast.expr, ast.expr, str]
"""First and last node of a text within one line, and the text in its place."""


def source_of(call: Any) -> Source | None:
    """The source of a launch.calls.Call; None where it is no function of a file that parses."""
    function = call.function
    if not isinstance(function, FunctionType):
        return None
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _first_line(node) == code.co_firstlineno:
            return Source(code.co_filename, text, tree, node)
    return None


def rewritten(call: Any, source: Source, edits: Sequence[Edit], change: str) -> Any:
    """A copy of a call whose function has these edits, which `change` names."""
    function = call.function
    lines = source.text.splitlines(keepends=True)
    for first, last, text in edits:
        line = lines[first.lineno - 1].encode()
        changed = line[: first.col_offset] + text.encode() + line[last.end_col_offset :]
        lines[first.lineno - 1] = changed.decode()
    # The tracer reads the source of the function through linecache. Reports show the end of the
    # file's name, which therefore stays that of the real file.
    file = f"<{change}>/{source.file}"
    linecache.cache[file] = (len(source.text), None, lines, file)
    compiled = compile("".join(lines), file, "exec", dont_inherit=True)
    by_place = {(each.co_name, each.co_firstlineno): each for each in codes(compiled)}
    key = function.__code__.co_name, function.__code__.co_firstlineno
    return altered(call, function=with_code(function, by_place[key], function.__globals__))


def with_code(function: FunctionType, code: CodeType, names: dict[str, Any]) -> FunctionType:
    """A copy of a function with another code and other globals."""
    copy = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = function.__annotations__
    copy.__dict__.update(function.__dict__)
    return copy


def codes(code: CodeType) -> Iterator[CodeType]:
    """The codes in a code, at any depth."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from codes(each)


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])
