#!/usr/bin/env python3
"""Checks what no formatter checks: file length, and a reason with each suppressed warning.

Usage: check_files.py [ROOT]; prints one line per violation and ends with 1 if any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

LINE_LIMIT = 350
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
NOLINT_WITH_REASON = re.compile(r"NOLINT(NEXTLINE|BEGIN)?\([\w.,\- ]+\):? +\S{2,}")


def check_file(name: str, content: str) -> Iterator[str]:
    """Yields the violations of one file."""
    lines = content.splitlines()
    if len(lines) > LINE_LIMIT:
        yield f"{name}: {len(lines)} lines exceed the limit of {LINE_LIMIT}; split the file"
    if not name.endswith((".h", ".cpp")):
        return
    for number, line in enumerate(lines, start=1):
        if NOLINT.search(line) and not NOLINT_WITH_REASON.search(line):
            yield f"{name}:{number}: write NOLINT(check-name): and the reason"


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
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    complaints = check_tree(root)
    print("\n".join(complaints) or f"files: none is longer than {LINE_LIMIT} lines")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
