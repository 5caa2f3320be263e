"""Compares simulated times with published measurements of real chips.

  neuron-sim fidelity --arch trn2 --json
  neuron-sim fidelity --data measurements.json --plot errors.svg

Each measurement whose kernel the suite has is built as its author wrote it, compiled by the passes
of the stack that its source used, and timed. Errors are simulated against measured, in percent.
With --sources the authors' own files are timed instead, through the front ends of NKI; kernels
without a checkout are counted and not replaced. With --held-out these are the rows of test suites
that no rule was fitted to.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from neuron_sim import _core
from neuron_sim.fidelity import evaluate, left_out_report
from neuron_sim.fidelity.evaluate import Evaluated
from neuron_sim.fidelity.held_out import evaluate as held_out
from neuron_sim.fidelity.held_out.rows import held_out_rows
from neuron_sim.fidelity.leave_out import leave_out_authors
from neuron_sim.fidelity.measurement import PUBLISHED, Measurement, load_measurements
from neuron_sim.fidelity.published import evaluate as published
from neuron_sim.fidelity.published import thresholds, variant_order
from neuron_sim.fidelity.published.sources import (
    MeasuredKernel,
    clone_lines,
    published_kernels,
)
from neuron_sim.fidelity.report import report
from neuron_sim.fidelity.report_text import lines
from neuron_sim.fidelity.retimed import RetimedCases, model_choices
from neuron_sim.sweep.results import Results
from neuron_sim.sweep.workers import workers
from neuron_sim.terminal.arguments import print_result
from neuron_sim.terminal.exit_codes import FAILURE, SUCCESS
from neuron_sim.terminal.json_output import add_json

SUMMARY = "compare simulated times with measurements of real chips"
FAILS = "a kernel failed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("--arch", choices=("trn1", "trn2"), help="only measurements of this core")
    parser.add_argument("--family", metavar="F", help="only measurements of this family")
    parser.add_argument(
        "--data",
        metavar="FILE",
        type=Path,
        help="other measurements, in the schema of the published ones; all of them count",
    )
    parser.add_argument(
        "--plot", metavar="FILE", type=Path, help="draw measured against simulated (.svg or .png)"
    )
    parser.add_argument(
        "--sources",
        metavar="DIR",
        type=Path,
        help="time the authors' own files from the checkouts in this folder",
    )
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="with --sources: time the measurements that no rule was fitted to",
    )
    parser.add_argument(
        "--thresholds",
        action="store_true",
        help="with --sources: time kernels that met a threshold of their harness on hardware",
    )
    parser.add_argument(
        "--variants",
        action="store_true",
        help="with --sources: compare the order of variants of one operator with the measured one",
    )
    _add_leave_out(parser)
    parser.add_argument(
        "--clone-lines",
        metavar="DIR",
        type=Path,
        help="print the commands that make these checkouts, and end",
    )
    parser.add_argument(
        "--stack",
        choices=("published", "off"),
        default="published",
        help="compiler passes of each source's stack, or none",
    )
    parser.add_argument(
        "--architecture",
        metavar="FILE",
        help="TOML file with other parameters of the core that --arch names",
    )
    add_json(parser)


def _add_leave_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--leave-one-author-out",
        action="store_true",
        help="choose rules and fitted values again without each author's kernels, and time those",
    )
    parser.add_argument(
        "--results",
        metavar="FILE",
        help="with --leave-one-author-out: keep simulated times there, for a later run to use",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="with --leave-one-author-out: processes of this host",
    )


def run(arguments: argparse.Namespace) -> int:
    """Times all cases and prints their errors; FAILURE when a kernel failed."""
    if arguments.clone_lines is not None:
        commands = _clone_lines(arguments.clone_lines)
        print_result(arguments, commands, lambda: print("\n".join(commands)))
        return SUCCESS
    if arguments.plot is not None and arguments.plot.suffix not in (".svg", ".png"):
        arguments.subparser.error(f"--plot {arguments.plot}: the file must end in .svg or .png")
    _check_architecture(arguments)
    if arguments.leave_one_author_out:
        return _leave_out(arguments)
    if arguments.results is not None or arguments.jobs != 1:
        arguments.subparser.error("--results and --jobs need --leave-one-author-out")
    if arguments.thresholds:
        return _listed(arguments, "thresholds", thresholds.published_thresholds(), thresholds)
    if arguments.variants:
        return _listed(arguments, "variants", variant_order.published_variants(), variant_order)
    all_measurements: list[Measurement] = []
    if arguments.held_out:
        evaluated = _held_out(arguments)
    else:
        counted, all_measurements = _chosen(arguments)
        evaluation = _evaluation(arguments)
        evaluated = [evaluation(measurement) for measurement in counted]
    result = report(evaluated, arguments.stack, arguments.architecture, all_measurements)
    print_result(arguments, result, lambda: print("\n".join(lines(result))))
    if arguments.plot is not None:
        from neuron_sim.fidelity.plot import draw  # matplotlib is of an extra

        draw(result["cases"], arguments.plot)
    return FAILURE if result["failed"] else SUCCESS


def _listed(
    arguments: argparse.Namespace, name: str, listed: Sequence[MeasuredKernel], module: ModuleType
) -> int:
    """Prints and stores the report of a module on the measurements that it lists; FAILURE when a
    kernel failed."""
    if arguments.sources is None or arguments.data is not None:
        arguments.subparser.error(f"--{name} needs --sources, and takes no --data")
    _check_sources(arguments)
    counted = _of_choice([each.measurement for each in listed], arguments, name)
    evaluated = [
        published.evaluate_kernel(
            each.measurement, each.kernel, arguments.sources, arguments.architecture
        )
        for each in listed
        if each.measurement in counted
    ]
    result = module.report(evaluated)
    print_result(arguments, result, lambda: print("\n".join(module.lines(result))))
    return FAILURE if result["failed"] else SUCCESS


def _leave_out(arguments: argparse.Namespace) -> int:
    """Prints and stores what the suite's kernels take with choices made without their authors."""
    if arguments.sources is not None or arguments.architecture is not None:
        arguments.subparser.error("--leave-one-author-out takes no --sources and no --architecture")
    if arguments.jobs < 1:
        arguments.subparser.error(f"--jobs {arguments.jobs}: there must be at least one process")
    counted, _ = _chosen(arguments)
    of_model = model_choices(sorted({each.architecture for each in counted}))
    with Results(arguments.results) as results, workers(arguments.jobs, None) as executor:
        timed = RetimedCases(counted, of_model, results, executor)
        left_out = leave_out_authors(of_model, timed.measured, timed)
    result = left_out_report.report(left_out)
    print_result(arguments, result, lambda: print("\n".join(left_out_report.lines(result))))
    return SUCCESS


def _evaluation(arguments: argparse.Namespace) -> Callable[[Measurement], Evaluated]:
    """Times the suite's kernel of a measurement or, with --sources, its author's file."""
    architecture = arguments.architecture
    if arguments.sources is None:
        return lambda measurement: evaluate.evaluate(measurement, architecture)
    _check_sources(arguments)
    return lambda measurement: published.evaluate(measurement, arguments.sources, architecture)


def _clone_lines(checkouts: Path) -> list[str]:
    suites = [row.suite.source for row in held_out_rows()]
    listed = (*thresholds.published_thresholds(), *variant_order.published_variants())
    bounds = [each.kernel.source for each in listed]
    sources = [kernel.source for kernel in published_kernels().values()]
    return clone_lines([*sources, *bounds, *suites], checkouts)


def _held_out(arguments: argparse.Namespace) -> list[Evaluated]:
    """The outcomes of the rows of test suites that --arch and --family leave."""
    if arguments.sources is None or arguments.data is not None:
        arguments.subparser.error("--held-out needs --sources, and takes no --data")
    _check_sources(arguments)
    counted = _of_choice([row.measurement for row in held_out_rows()], arguments, "held-out rows")
    rows = [row for row in held_out_rows() if row.measurement in counted]
    return list(held_out.evaluate(rows, arguments.sources, arguments.architecture))


def _check_sources(arguments: argparse.Namespace) -> None:
    if not arguments.sources.is_dir():
        arguments.subparser.error(f"--sources {arguments.sources}: there is no such folder")


def _check_architecture(arguments: argparse.Namespace) -> None:
    """Says what is wrong with --architecture before anything is timed."""
    if arguments.architecture is None:
        return
    if arguments.arch is None:
        arguments.subparser.error("--architecture needs --arch, the core that it describes")
    _core.architecture_facts(arguments.architecture)


def _chosen(arguments: argparse.Namespace) -> tuple[list[Measurement], list[Measurement]]:
    """The measurements that count, and those with all repeats; ValueError when there are none."""
    path = PUBLISHED if arguments.data is None else arguments.data
    chosen = _of_choice(load_measurements(path), arguments, f"measurements '{path}'")
    counted = chosen
    if arguments.data is None:
        counted = [each for each in chosen if each.split == "calibration"]
    if not counted:
        raise ValueError(f"measurements '{path}' have none that --arch and --family leave.")
    return counted, chosen


def _of_choice(
    measurements: list[Measurement], arguments: argparse.Namespace, name: str
) -> list[Measurement]:
    """Those that --arch and --family leave; ValueError for a family that does not exist."""
    families = sorted({each.family for each in measurements})
    if arguments.family is not None and arguments.family not in families:
        raise ValueError(
            f"{name} have no family '{arguments.family}'; families: {', '.join(families)}."
        )
    return [
        each
        for each in measurements
        if arguments.arch in (None, each.architecture) and arguments.family in (None, each.family)
    ]
