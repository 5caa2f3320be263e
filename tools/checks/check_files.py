#!/usr/bin/env python3
"""Checks what no formatter checks: the length of files, lines and Python functions, a reason with
each suppressed warning, PascalCase in the names of GoogleTest, no opcodes in the package.

Usage: check_files.py [ROOT]; prints one line per violation and ends with 1 if any.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

LINE_LIMIT = 350
WIDTH_LIMIT = 100
FUNCTION_LIMIT = 60
SUFFIXES = (".h", ".cpp", ".py", ".cmake", ".sh", ".txt")
FOLDERS = (
    "device",
    "ops",
    "csrc",
    "python_bindings",
    "models",
    "tests",
    "benchmarks",
    "tools",
    "cmake",
    "examples",
)
# NOLINTNEXTLINE(check-name): reason. NOLINTEND closes a NOLINTBEGIN, which has the reason.
NOLINT = re.compile(r"//.*\bNOLINT(?!END)(NEXTLINE|BEGIN)?")
GTEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+), (\w+)", re.MULTILINE)
GTEST_NAME = re.compile(r"(?:DISABLED_)?[A-Z][A-Za-z0-9]*")
OPCODES = re.compile(r"^[ \t]*(?:import|from) (?:dis|opcode)\b|[.]co_code\b", re.MULTILINE)
NOLINT_WITH_REASON = re.compile(r"NOLINT(NEXTLINE|BEGIN)?\([\w.,\- ]+\):? +\S{2,}")


def _long_functions(name: str, content: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(content)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > FUNCTION_LIMIT:
            yield (
                f"{name}:{node.lineno}: {length} lines of {node.name} exceed the limit of "
                f"{FUNCTION_LIMIT} per function"
            )


def check_file(name: str, content: str) -> Iterator[str]:
    """Yields the violations of one file."""
    lines = content.splitlines()
    if len(lines) > LINE_LIMIT:
        yield f"{name}: {len(lines)} lines exceed the limit of {LINE_LIMIT}; split the file"
    for number, line in enumerate(lines, start=1):
        if len(line) > WIDTH_LIMIT:
            yield f"{name}:{number}: {len(line)} columns exceed the limit of {WIDTH_LIMIT}"
    if name.endswith(".py"):
        yield from _long_functions(name, content)
        for found in OPCODES.finditer(content if name.startswith("python_bindings") else ""):
            number = content.count("\n", 0, found.start()) + 1
            yield f"{name}:{number}: opcodes differ between versions of Python; use nki/syntax"
    if not name.endswith((".h", ".cpp")):
        return
    for number, line in enumerate(lines, start=1):
        if NOLINT.search(line) and not NOLINT_WITH_REASON.search(line):
            yield f"{name}:{number}: write NOLINT(check-name): and the reason"
    for found in GTEST.finditer(content):
        if not all(GTEST_NAME.fullmatch(word) for word in found.groups()):
            number = content.count("\n", 0, found.start()) + 1
            yield f"{name}:{number}: write the test {'.'.join(found.groups())} in PascalCase"


def check_tree(root: Path) -> list[str]:
    """All violations below `root`, sorted by file."""
    complaints: list[str] = []
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                name = file.relative_to(root).as_posix()
                complaints += check_file(name, file.read_text(encoding="utf-8"))
    return complaints


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    complaints = check_tree(root)
    print("\n".join(complaints) or "files: lengths, suppressed warnings and test names as required")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
