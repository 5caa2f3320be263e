"""Collects the refusals of the sources: the sentence, the class of error, the file.

Python files are read through their syntax trees, C++ files through a scanner that knows literals,
comments and brackets. Braces stand for values that are filled in when it is raised.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Refusal:
    """`sentence` with {names} for what is filled in; `error`: Python's class."""

    file: str
    sentence: str
    error: str


KINDS = {
    "kValue": "ValueError",
    "kType": "TypeError",
    "kIndex": "IndexError",
    "kOutOfMemory": "MemoryError",
    "kNotImplemented": "NotImplementedError",
    "kRuntime": "RuntimeError",
}
SUBCLASSES = {"OutputDependencies": "ValueError"}
CHECKS = {
    "TORCH_CHECK": "RuntimeError",
    "TORCH_CHECK_VALUE": "ValueError",
    "TORCH_CHECK_INDEX": "IndexError",
    "TORCH_CHECK_TYPE": "TypeError",
    "TORCH_CHECK_NOT_IMPLEMENTED": "NotImplementedError",
    "TORCH_CHECK_WITH": "",  # its first argument names the class
}
_CALL = re.compile(r"\b(fail|KernelError|" + "|".join(CHECKS) + r")\s*\(")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[()\[\]{},]')
_NAME = re.compile(r"[A-Za-z_]\w*")
_PLUMBING = {"static_cast", "std", "string", "int64_t", "size_t", "int", "text", "to_string", "c10"}
_PLUMBING |= {"get", "at", "value", "describe", "name", "str", "c_str", "front", "back", "begin"}


def of_python(source: str, file: str) -> Iterator[Refusal]:
    """Errors that are made out of a sentence, and the messages of assertions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert) and node.msg is not None:
            sentence, error = _sentence(node.msg), "AssertionError"
        elif isinstance(node, ast.Call) and node.args:
            error = ast.unparse(node.func).rpartition(".")[2]
            if not re.fullmatch(r"[A-Z]\w*(Error|Exception|Dependencies)", error):
                continue
            sentence = _sentence(node.args[0])
        else:
            continue
        if sentence:
            yield Refusal(file, sentence.split("\n")[0], SUBCLASSES.get(error, error))


def _sentence(node: ast.expr) -> str:
    """The text of a literal, an f-string or a sum of them; "" for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(each) for each in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _sentence(node.left), _sentence(node.right)
        if left or right:
            return (left or f"{{{_named(ast.unparse(node.left))}}}") + (
                right or f"{{{_named(ast.unparse(node.right))}}}"
            )
    return ""


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.FormattedValue):
        return f"{{{_named(ast.unparse(node.value))}}}"
    return _sentence(node)


def of_cpp(source: str, file: str) -> Iterator[Refusal]:
    """Calls of fail(...), KernelError(...) and of TORCH_CHECK and its kin that have a sentence."""
    code = without_comments(source)
    for call in _CALL.finditer(code):
        arguments = split_arguments(code, call.end())
        function = call.group(1)
        if function in ("fail", "KernelError"):
            kind = next((KINDS[k] for a in arguments[1:] for k in KINDS if k in a), "ValueError")
            parts = arguments[:1]
        else:
            first = 2 if function == "TORCH_CHECK_WITH" else 1
            kind, parts = CHECKS[function] or arguments[0].strip(), arguments[first:]
        sentence = "".join(map(_piece, parts)).split("\n")[0].strip()
        if _LITERAL.search("".join(parts)):
            yield Refusal(file, sentence, kind)


def without_comments(source: str) -> str:
    """The source with comments as blanks; literals stay."""

    def keep(match: re.Match[str]) -> str:
        return " " if match.group(0).startswith("/") else match.group(0)

    return _SKIPPED.sub(keep, source)


def split_arguments(code: str, start: int) -> list[str]:
    """The arguments of a call whose bracket opens just before `start`."""
    depth, first = 0, start
    arguments: list[str] = []
    for mark in _MARK.finditer(code, start):
        char = mark.group(0)
        if char in "([{":
            depth += 1
        elif char in ")]}" and depth == 0:
            last = code[first : mark.start()]
            return [*arguments, last] if last.strip() else arguments
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            arguments.append(code[first : mark.start()])
            first = mark.end()
    return arguments


def _piece(expression: str) -> str:
    """A part of a sentence: the contents of literals, {name} for what is computed."""
    expression = expression.strip()
    inner = re.match(r"(?:std::string|text)\s*\(", expression)
    if inner:
        arguments = split_arguments(expression, inner.end())
        closed = inner.end() + sum(map(len, arguments)) + max(0, len(arguments) - 1)
        rest = expression[closed + 1 :].strip()
        return "".join(map(_piece, arguments)) + (_piece(rest.lstrip("+")) if rest else "")
    literals = _LITERAL.findall(expression)
    if literals and not _LITERAL.sub("", expression).strip():
        return _unescaped("".join(literals))
    chosen = re.fullmatch(r'[^"]*\?\s*"((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)"\)?', expression)
    if chosen:
        return "{" + " | ".join(_unescaped(each) for each in chosen.groups() if each) + "}"
    terms = _top_level_sum(expression)
    if len(terms) > 1:
        return "".join(map(_piece, terms))
    return f"{{{_named(expression)}}}"


def _top_level_sum(expression: str) -> list[str]:
    """The terms of a + b + c, where one of them is a literal."""
    if not _LITERAL.search(expression):
        return [expression]
    masked = _LITERAL.sub(lambda match: "x" * len(match.group(0)), expression)
    terms, depth, first = [], 0, 0
    for at, char in enumerate(masked):
        depth += (char in "([{") - (char in ")]}")
        if char == "+" and depth == 0:
            terms.append(expression[first:at])
            first = at + 1
    return [*terms, expression[first:]]


def _unescaped(literal: str) -> str:
    return literal.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def _named(expression: str) -> str:
    """The telling word of an expression: `static_cast<int>(view.label())` is "label"."""
    words = _NAME.findall(_LITERAL.sub("", expression))
    telling = [each for each in words if each not in _PLUMBING] or words or ["value"]
    word = telling[-1].strip("_")
    word = re.sub(r"^k(?=[A-Z])", "", word)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word).lower().replace("_", " ")


def refusals(root: Path) -> list[Refusal]:
    """The refusals of device/, ops/, csrc/ and the Python package, each once."""
    found: set[Refusal] = set()
    for folder in ("device", "ops", "csrc", "python_bindings"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".h"):
                collect = of_cpp
            elif path.suffix == ".py":
                collect = of_python
            else:
                continue
            file = path.relative_to(root).as_posix()
            found.update(collect(path.read_text(encoding="utf-8"), file))
    return sorted(found)
