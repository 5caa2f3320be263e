"""Search a kernel's parameters for the best simulated time, with far fewer points than a sweep.

  neuron-sim tune kernels.py:matmul --over m=1:6:1 --over n=128,256,512 --trials 60

TARGET, parameters and inputs are those of `neuron-sim sweep`; PARAMETERS and INPUTS of the file
count where the command line gives none. optuna proposes the points (pip install neuron-sim[sweep]),
the simulator is the cost. The same seed finds the same. Points whose times are too near the best
for the simulation to tell them apart are counted.
"""

from __future__ import annotations

import argparse
import sys

from neuron_sim.sweep.command import add_study_arguments, study_of
from neuron_sim.sweep.run import incomparable
from neuron_sim.terminal.arguments import print_result
from neuron_sim.terminal.exit_codes import SUCCESS
from neuron_sim.terminal.progress import Progress
from neuron_sim.terminal.tables import print_table
from neuron_sim.timeline.interval import TOLD_APART
from neuron_sim.tune.search import Tuned, tune

SUMMARY = "search a kernel's parameters for the best simulated time"
FAILS = "all points fail, or the file of TARGET does"

_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study_arguments(parser)
    parser.add_argument(
        "--trials", type=int, default=60, metavar="N", help="points to time at most"
    )
    parser.add_argument("--figure", default="latency_us", metavar="NAME", help="to minimise")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the search")


def run(arguments: argparse.Namespace) -> int:
    """SUCCESS; ValueError for a study that cannot be searched, ProgramError when all points
    failed."""
    study = study_of(arguments)
    with Progress("tune") as progress:
        found = tune(
            study, arguments.trials, arguments.figure, arguments.seed,
            arguments.results or None, progress,
        )  # fmt: skip
    result = {
        "best": found.best,
        arguments.figure: found.cost,
        "alike": found.alike,
        "trials": found.rows,
    }
    print_result(arguments, result, lambda: _print_text(found, study.size, arguments.figure))
    return SUCCESS


def _print_text(found: Tuned, size: int, figure: str) -> None:
    best = ", ".join(f"{name} {value}" for name, value in found.best.items())
    print(f"Best of {len(found.rows)} of {size} points: {best} ({figure} {found.cost:.6g}).")
    if found.alike:
        print(
            f"Within {TOLD_APART:.0%} of it, which the simulation cannot tell apart: "
            f"{len(found.alike)} more, the first of the table."
        )
    if (differ := incomparable(found.rows)) is not None:
        print(f"neuron-sim tune: warning: {differ}", file=sys.stderr)
    known = [row for row in found.rows if figure in row]
    print_table(sorted(known, key=lambda row: row[figure])[:_SHOWN])
