"""Compare two runs: timeline pages that `neuron-sim run --timeline` or `write_timeline` wrote.

  neuron-sim run --timeline before.html kernel.py
  neuron-sim run --timeline after.html faster_kernel.py
  neuron-sim compare before.html after.html --timeline both.html

Prints the figures that differ: times, engines, critical path, DMA queues, counters, instructions,
lines of the kernel. The page of both has their lanes on one time axis.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from neuron_sim.terminal.arguments import (
    DIFFERENCE_FAILS,
    add_exit_code,
    comparison_code,
    print_result,
)
from neuron_sim.terminal.json_output import add_json
from neuron_sim.terminal.tables import print_table
from neuron_sim.timeline.comparison import Difference, compare_runs
from neuron_sim.timeline.interval import KINDS, interval
from neuron_sim.timeline.page import read_timeline, write_comparison
from neuron_sim.timeline.recorded_run import RecordedRun

SUMMARY = "compare two runs by their timeline pages"

FAILS = DIFFERENCE_FAILS

_LINES = 10
"""Lines of the kernel that are printed without --all."""
_LONGEST_NAME = 40
"""Columns of a figure that are printed without --all: a row is not wider than a terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="A", help="a timeline page")
    parser.add_argument("second", metavar="B", help="another one")
    parser.add_argument(
        "--timeline", metavar="FILE", help="write the page of both runs, for a browser"
    )
    parser.add_argument(
        "--all", action="store_true", help="also what is equal, and all lines of the kernels whole"
    )
    add_exit_code(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """An exit code. ValueError for a file that is no timeline page of one run."""
    first, second = _apart(arguments.first, arguments.second)
    differences = compare_runs(first, second)
    if arguments.timeline is not None:
        write_comparison(first, second, arguments.timeline)
    rows = [asdict(each) | {"change": each.change, "ratio": each.ratio} for each in differences]

    def text() -> None:
        for label, each in (("A", first), ("B", second)):
            print(f"{label}: {each.title}, {each.header['architecture']}")
            if (bottleneck := each.header.get("bottleneck")) is not None:
                start, end = each.header["phases"]["nc_latency"]
                print(f"   {interval(KINDS[bottleneck]).text('nc_latency', (end - start) / 1e6)}")
        most = None if arguments.all else _LONGEST_NAME
        print_table([_row(each, most) for each in _printed(differences, arguments.all)])

    print_result(arguments, rows, text)
    return comparison_code(arguments, any(each.change for each in differences))


def _apart(*files: str) -> list[RecordedRun]:
    """The runs of the files; those of one title get the names of their files."""
    runs = [read_timeline(file) for file in files]
    if runs[0].title != runs[1].title:
        return runs
    names = [os.path.basename(file) for file in files]
    names = list(files) if names[0] == names[1] else names
    titles = [f"{run.title} ({name})" for run, name in zip(runs, names, strict=True)]
    return [replace(run, header=run.header | {"title": title})
            for run, title in zip(runs, titles, strict=True)]  # fmt: skip


def _printed(differences: Sequence[Difference], everything: bool) -> list[Difference]:
    if everything:
        return list(differences)
    rows = [each for each in differences if each.group == "time" or each.change]
    lines = [each for each in rows if each.group == "line"]
    return [each for each in rows if each.group != "line"] + lines[:_LINES]


def _row(difference: Difference, most: int | None) -> dict[str, Any]:
    name = difference.name
    if most is not None and len(name) > most:
        name = f"{name[: most - 3]}..."
    scale, unit = (1e6, "us") if difference.unit == "ps" else (1, difference.unit)

    def shown(value: float | None) -> float | int | None:
        if value is None:
            return None
        return value / scale if scale != 1 or value != int(value) else int(value)

    return {
        "group": difference.group,
        "figure": name,
        "unit": unit,
        "A": shown(difference.first),
        "B": shown(difference.second),
        "B - A": shown(difference.change),
        "B / A": difference.ratio,
    }
