#!/usr/bin/env python3
"""Lines of device/ and ops/ that the core tests ran, from what gcov says of a build.

Usage: core_coverage.py BUILD_FOLDER [--clear]. --clear removes the counts of earlier runs. Prints
the folders and the files with the most lines that nothing ran; the exit status is 1 when less than
90 % of the lines of device/ or of ops/ ran.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("device", "ops")
LEAST = 90.0
SHOWN = 15
# Files of counts per call of gcov.
CHUNK = 20

Lines = dict[str, dict[int, bool]]


def merge(document: dict, lines: Lines) -> None:
    """Adds one answer of gcov: a line ran when any object with it ran it."""
    for file in document["files"]:
        path = Path(file["file"])
        path = path if path.is_absolute() else Path(document["current_working_directory"]) / path
        try:
            name = str(path.resolve().relative_to(ROOT))
        except ValueError:
            continue
        if not name.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
            continue
        for line in file["lines"]:
            number = line["line_number"]
            lines[name][number] = lines[name].get(number, False) or line["count"] > 0


def measured(build: Path) -> Lines:
    """By file and line number, whether the line ran."""
    counts = sorted(build.rglob("*.gcda"))
    if not counts:
        raise SystemExit(f"core_coverage: no counts in {build}: build with --coverage and run")
    lines: Lines = defaultdict(dict)
    for first in range(0, len(counts), CHUNK):
        names = [str(path.resolve()) for path in counts[first : first + CHUNK]]
        answer = subprocess.run(
            ["gcov", "--json-format", "--stdout", *names],
            check=True, capture_output=True, text=True, cwd=build,
        )  # fmt: skip
        for document in answer.stdout.splitlines():
            if document.strip():
                merge(json.loads(document), lines)
    return lines


def share(files: list[dict[int, bool]]) -> tuple[int, int, float]:
    """Lines that ran, all lines, and the share in percent."""
    ran = sum(sum(file.values()) for file in files)
    total = sum(len(file) for file in files)
    return ran, total, 100.0 * ran / total if total else 0.0


def main() -> int:
    build = Path(sys.argv[1])
    if "--clear" in sys.argv[2:]:
        for path in build.rglob("*.gcda"):
            path.unlink()
        return 0
    lines = measured(build)
    missing = sorted(lines, key=lambda name: sum(lines[name].values()) - len(lines[name]))
    print("lines that nothing ran:")
    for name in missing[:SHOWN]:
        ran, total, percent = share([lines[name]])
        first = [number for number, did in sorted(lines[name].items()) if not did][:8]
        print(f"  {total - ran:>4} of {total:>4} ({percent:.0f} % ran) {name}: {first}")
    least = 100.0
    folders = sorted({str(Path(name).parent) for name in lines}) + list(FOLDERS)
    for folder in folders:
        files = [lines[name] for name in lines if name.startswith(f"{folder}/")]
        ran, total, percent = share(files)
        print(f"{folder:<20} {ran:>6} of {total:>6} lines, {percent:.1f} %")
        if folder in FOLDERS:
            least = min(least, percent)
    return 0 if least >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
