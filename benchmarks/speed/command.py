"""The command: measures rows, prints them, and the report that docs/performance.md is made of."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch

from speed.figures import Row
from speed.host import peak, processor
from speed.rows import ROWS
from speed.sizes import Sizes
from speed.timing import threads


def host() -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "processor": processor(),
        "peak": peak(),
        "processors": os.cpu_count(),
        "threads": 1,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 1),
    }


def run(rows: Sequence[Row], sizes: Sizes) -> dict[str, Any]:
    """The report of these rows, each measured with one thread. Prints its progress to stderr."""
    report: dict[str, Any] = {"date": datetime.date.today().isoformat(), "host": host()}
    report["repetitions"] = [sizes.repetitions, sizes.long_repetitions]
    report["rows"] = []
    for row in rows:
        start = time.perf_counter()
        with threads(1):
            figures = row.measure(sizes)
        took = round(time.perf_counter() - start, 1)
        entry = {"name": row.name, "measured": row.measured, "took": took, "figures": figures}
        report["rows"].append(entry)
        for figure in figures:
            print(line(row.name, figure), file=sys.stderr, flush=True)
    report["host"]["load_after"] = round(os.getloadavg()[0], 1)
    return report


def line(row: str, figure: dict[str, Any]) -> str:
    """A figure as text: value, goal, the pair behind a ratio."""
    if figure["value"] is None:
        return f"{row}, {figure['name']}: not measured ({figure['note']})"
    text = f"{row}, {figure['name']}: {figure['value']:.3g} {figure['unit']}"
    if figure["goal"] is not None:
        bound = "at least" if figure["at_least"] else "at most"
        text += f", goal {bound} {figure['goal']:g}: {'met' if figure['met'] else 'MISSED'}"
    if figure["ours"] is not None:
        text += f" ({figure['ours']:.4g} against {figure['other']:.4g} {figure['pair_unit']})"
    return text + (f" ({figure['note']})" if figure["note"] else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """0; a missed goal is printed, not an error, as hosts differ."""
    names = [row.name for row in ROWS]
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Rows: {', '.join(names)}.")
    parser.add_argument("--rows", help="names, separated by commas; else all")
    parser.add_argument("--json", action="store_true", help="print the report on stdout")
    options = parser.parse_args(arguments)
    chosen = names if options.rows is None else options.rows.split(",")
    for name in chosen:
        if name not in names:
            parser.error(f"'{name}' is no row; there are {', '.join(names)}")
    report = run([row for row in ROWS if row.name in chosen], Sizes())
    if options.json:
        print(json.dumps(report, indent=1))
    return 0
