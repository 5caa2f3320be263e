"""Time a kernel or a model at every point of a grid, and show what changes.

  neuron-sim sweep kernels.py:matmul --input 'a=bfloat16[2048,K]' --input 'b=bfloat16[K,2048]' \\
      --over K=512:4096:x2 --over arch.hbm.bandwidth=1x,2x,4x --plot heat.png
  neuron-sim sweep model:resnet18 --over batch=1:16:x2 --over arch=trn1,trn2 --csv out.csv
  neuron-sim sweep kernels.py:matmul --over K=512:4096:512 --pareto latency_us,sbuf_bytes

TARGET is FILE.py:FUNCTION, model:NAME or a TOML file that says all of it in a table [sweep], and
the chip beside it (docs/profiling.md). FUNCTION is an NKI kernel whose arrays --input declares,
or a function that returns `kernel.traced(...)`. Parameters are its arguments, sizes that inputs
name, options of `neuron-sim model`; `arch`; and facts of the architecture, `arch.KEY`, with values
as in an architecture file: numbers, or factors such as 2x. Where the command line
gives none, FILE.py may: PARAMETERS = {"tile": [128, 256]}, INPUTS = {"a": "bfloat16[128, 512]"}.

Results are kept in a file as they come: the same command continues after Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings

from neuron_sim.files import write_whole
from neuron_sim.sweep.page import write_sweep_page
from neuron_sim.sweep.pareto import pareto_front
from neuron_sim.sweep.plot import plot
from neuron_sim.sweep.point import loaded_module
from neuron_sim.sweep.run import SweepRows, run_sweep
from neuron_sim.sweep.study import MODEL, Study, Value
from neuron_sim.sweep.study_file import read_study
from neuron_sim.sweep.values import parse_parameter
from neuron_sim.sweep.workers import workers
from neuron_sim.terminal.arguments import add_architecture, chosen_architecture, print_result
from neuron_sim.terminal.exit_codes import SUCCESS, ProgramError
from neuron_sim.terminal.json_output import add_json
from neuron_sim.terminal.progress import Progress
from neuron_sim.terminal.suggestions import did_you_mean_file
from neuron_sim.terminal.tables import as_csv, print_table

SUMMARY = "time a grid of kernel arguments, model options and architecture facts"
FAILS = "all points fail, or the file of TARGET does"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study_arguments(parser)
    parser.add_argument(
        "--energy",
        action="store_true",
        help="add columns of energy and area of kernels, assumed from figures of other chips",
    )
    parser.add_argument("--csv", metavar="FILE", help="write the table as CSV")
    parser.add_argument(
        "--plot", metavar="FILE", help="draw a curve or a heat map of --figure (png, svg, pdf)"
    )
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="write a page with all points, whose timelines a click opens",
    )
    parser.add_argument(
        "--figure", metavar="NAME", default=None, help="what --plot draws; default: the first one"
    )
    parser.add_argument(
        "--pareto",
        metavar="NAME,NAME",
        help="show only points that no other beats in these figures, the smaller the better; "
        "-NAME: the larger",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes of this host")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a Dask cluster whose workers time the points"
    )


def add_study_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that say what is timed, of `neuron-sim tune` too."""
    parser.add_argument(
        "target", metavar="TARGET", help=f"FILE.py:FUNCTION, {MODEL}NAME or FILE.toml"
    )
    parser.add_argument(
        "--over",
        action="append",
        default=[],
        metavar="P=V,...",
        help="a parameter and its values: a,b,c or FIRST:LAST:STEP or FIRST:LAST:xFACTOR",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="A=T[S,...]",
        help="an array argument of the kernel, such as a=bfloat16[128, 2*K]",
    )
    parser.add_argument(
        "--results",
        metavar="FILE",
        default="sweep.jsonl",
        help="where results are kept; an empty name keeps none",
    )
    add_architecture(parser)
    add_json(parser)


def study_of(arguments: argparse.Namespace) -> Study:
    """The study that the command line and the target's file declare. ValueError."""
    parameters, inputs = dict(map(parse_parameter, arguments.over)), {}
    for text in arguments.input:
        name, _, form = text.partition("=")
        inputs[name.strip()] = form
    target, chip = arguments.target, None
    if target.endswith(".toml"):
        declared = read_study(target)
        parameters, inputs = parameters or declared.parameters, inputs or declared.inputs
        target, chip = declared.target, declared.architecture
        if chip is not None and arguments.arch is not None:
            raise ValueError(f"'{chip}' describes the chip already; leave out --arch.")
    if not target.startswith(MODEL):
        of_kernel = declarations(target)
        parameters, inputs = parameters or of_kernel[0], inputs or of_kernel[1]
    if not parameters:
        raise ValueError("there is nothing to sweep: give --over NAME=VALUE,...")
    chip = chip or chosen_architecture(arguments.arch)
    return Study(target, parameters, inputs, chip, getattr(arguments, "energy", False))


def declarations(target: str) -> tuple[dict[str, tuple[Value, ...]], dict[str, str]]:
    """PARAMETERS and INPUTS of the target's file. ValueError for a file that is not there."""
    file = target.rpartition(":")[0]
    if not os.path.isfile(file):
        near = did_you_mean_file(file)
        raise ValueError(
            f"there is no file '{file}'{near}; TARGET is FILE.py:FUNCTION, {MODEL}NAME or "
            "FILE.toml."
        )
    module = loaded_module(os.path.abspath(file), os.stat(file).st_mtime_ns)
    parameters = getattr(module, "PARAMETERS", {})
    return (
        {name: tuple(values) for name, values in parameters.items()},
        dict(getattr(module, "INPUTS", {})),
    )


def run(arguments: argparse.Namespace) -> int:
    """SUCCESS. ValueError for a study that cannot be run; ProgramError when all points failed;
    KeyboardInterrupt after a sentence that says how to continue."""
    study = study_of(arguments)
    rows = _swept(study, arguments)
    if arguments.csv is not None:
        write_whole(arguments.csv, as_csv(rows))
    failed = all("error" in row for row in rows)
    if arguments.plot is not None and not failed:
        plot(study, rows, arguments.figure or _first_figure(study, rows), arguments.plot)
    if arguments.html is not None and not failed:
        write_sweep_page(study, rows, arguments.html)
    if arguments.pareto is not None and not failed:
        front = pareto_front(rows, arguments.pareto.split(","))
        rows = SweepRows(rows[number] for number in front)
    print_result(arguments, rows, lambda: print_table(rows))
    if failed:
        raise ProgramError(f"every point was refused: {rows[0]['error']}")
    return SUCCESS


def _swept(study: Study, arguments: argparse.Namespace) -> SweepRows:
    known = [0, study.size]

    def advance(done: int, total: int) -> None:
        known[:] = done, total
        progress(done, total)

    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress("sweep"))
        executor = stack.enter_context(workers(arguments.jobs, arguments.scheduler))
        try:
            with warnings.catch_warnings(record=True) as told:
                rows = run_sweep(study, executor, arguments.results or None, advance)
            for each in told:
                print(f"neuron-sim sweep: warning: {each.message}", file=sys.stderr)
            return rows
        except KeyboardInterrupt:
            kept = f"are in {arguments.results}; the same command continues"
            print(
                f"neuron-sim sweep: stopped: {known[0]} of {known[1]} points "
                f"{kept if arguments.results else 'were timed'}.",
                file=sys.stderr,
            )
            raise


def _first_figure(study: Study, rows: SweepRows) -> str:
    """The first number that is no parameter, of the points that were timed."""
    for row in rows:
        for name, value in row.items():
            if name not in study.parameters and isinstance(value, int | float):
                return name
    raise ValueError("no point has a number to draw.")
