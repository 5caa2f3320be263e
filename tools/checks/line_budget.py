#!/usr/bin/env python3
"""Checks the size of each room of the tree against tools/checks/line_budget.toml.

Sources are the lines of .h, .cpp, .py and .js files under version control outside tests/, tests the
lines of such files below it, docs the words of the .md files below docs/. A room is a folder, two
levels deep at most, below python_bindings three.
Usage: line_budget.py [--write] [ROOT]; prints every room and ends with 1 when one is larger than
its budget, has none, or is gone. --write sets the budget of each room to its size, rounded up to
the next 50; the totals stay.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from check_rooms import tracked

BUDGET = "tools/checks/line_budget.toml"
SUFFIXES = (".h", ".cpp", ".py", ".js")
STEP = 50


def _size(root: Path, file: PurePosixPath) -> tuple[str, int] | None:
    """The total that a file counts for, and how much; None when it counts for none."""
    if file.suffix in SUFFIXES:
        total = "tests" if file.parts[0] == "tests" else "sources"
        return total, (root / file).read_bytes().count(b"\n")
    if file.suffix == ".md" and file.parts[0] == "docs":
        return "docs", len((root / file).read_text(encoding="utf-8").split())
    return None


def measure(root: Path) -> tuple[Counter[str], Counter[str]]:
    """The present size of the totals and of the rooms."""
    totals: Counter[str] = Counter()
    rooms: Counter[str] = Counter()
    for file in tracked(root):
        if size := _size(root, file):
            totals[size[0]] += size[1]
            depth = 3 if file.parts[0] == "python_bindings" else 2
            rooms["/".join(file.parts[:-1][:depth]) or "."] += size[1]
    return totals, rooms


def compare(now: Counter[str], budget: dict[str, int], kind: str) -> Iterator[tuple[str, bool]]:
    """One line per entry, and whether it is a violation."""
    for name in sorted(now.keys() | budget.keys()):
        line = f"{kind} {name:40} {now[name]:7,}"
        if name not in budget:
            yield f"{line}  has no budget in {BUDGET}", True
        elif name not in now:
            yield f"{line}  is gone; delete its budget of {budget[name]:,}", True
        else:
            over = now[name] - budget[name]
            note = f"  exceeds it by {over:,}" if over > 0 else ""
            yield f"{line} of {budget[name]:7,}{note}", over > 0


def write(path: Path, rooms: Counter[str]) -> None:
    """Replaces the rooms of the budget, keeping what stands before them."""
    head = path.read_text(encoding="utf-8").split("[rooms]\n")[0]
    rows = [f'"{name}" = {-(-rooms[name] // STEP) * STEP}\n' for name in sorted(rooms)]
    path.write_text(head + "[rooms]\n" + "".join(rows), encoding="utf-8")


def main(arguments: list[str]) -> int:
    names = [argument for argument in arguments if argument != "--write"]
    root = Path(names[0]) if names else Path(__file__).resolve().parents[2]
    totals, rooms = measure(root)
    if "--write" in arguments:
        write(root / BUDGET, rooms)
    budget = tomllib.loads((root / BUDGET).read_text(encoding="utf-8"))
    lines = [*compare(rooms, budget["rooms"], "room"), *compare(totals, budget["totals"], "total")]
    print("\n".join(line for line, _ in lines))
    return 1 if any(violation for _, violation in lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
