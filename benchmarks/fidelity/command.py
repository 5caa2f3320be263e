"""Compares simulated times with published measurements of real chips.

Each measurement whose kernel the suite has is built as its author wrote it, compiled by the passes
of the stack that its source used, and timed. Errors are simulated against measured, in percent.
With --sources the authors' own files are timed instead, through the front ends of NKI; kernels
without a checkout are counted and not replaced. With --held-out these are the rows of test suites
that nothing was fitted to.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_sim.fidelity.ladders import DISTANCE
from neuron_sim.fidelity.measurement import PUBLISHED, Measurement, load_measurements
from neuron_sim.fidelity.published.sources import clone_lines, published_kernels
from neuron_sim.files import write_whole

if TYPE_CHECKING:
    from neuron_sim.fidelity.evaluate import Evaluated

SUMMARY = "compare simulated times with measurements of real chips"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("--arch", choices=("trn1", "trn2"), help="only measurements of this core")
    parser.add_argument("--family", metavar="F", help="only measurements of this family")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the whole report here")
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
        help="with --sources: time the measurements that nothing was fitted to",
    )
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
        help="compiler passes of each source's stack (default), or none",
    )
    parser.add_argument(
        "--architecture",
        metavar="FILE",
        help="TOML file with other parameters of the core that --arch names",
    )


def run(arguments: argparse.Namespace) -> int:
    """Times all cases and prints their errors; 1 when a kernel failed."""
    from neuron_sim.fidelity.report import report

    if arguments.clone_lines is not None:
        print("\n".join(_clone_lines(arguments.clone_lines)))
        return 0
    if arguments.plot is not None and arguments.plot.suffix not in (".svg", ".png"):
        arguments.subparser.error(f"--plot {arguments.plot}: the file must end in .svg or .png")
    _check_architecture(arguments)
    if arguments.held_out:
        evaluated, all_measurements = _held_out(arguments), []
    else:
        counted, all_measurements = _chosen(arguments)
        evaluate = _evaluate_with(arguments)
        evaluated = [evaluate(measurement) for measurement in counted]
    result = report(evaluated, arguments.stack, arguments.architecture, all_measurements)
    print("\n".join(lines(result)))
    if arguments.json is not None:
        _write(arguments.json, json.dumps(result, indent=1) + "\n")
    if arguments.plot is not None:
        from neuron_sim.fidelity.plot import draw

        draw(result["cases"], arguments.plot)
    return 1 if result["failed"] else 0


def _evaluate_with(arguments: argparse.Namespace) -> Callable[[Measurement], Evaluated]:
    """Times the suite's kernel of a measurement or, with --sources, its author's file."""
    from neuron_sim.fidelity import evaluate
    from neuron_sim.fidelity.published import evaluate as published

    architecture = arguments.architecture
    if arguments.sources is None:
        return lambda measurement: evaluate.evaluate(measurement, architecture)
    _check_sources(arguments)
    return lambda measurement: published.evaluate(measurement, arguments.sources, architecture)


def _clone_lines(checkouts: Path) -> list[str]:
    from neuron_sim.fidelity.held_out.rows import held_out_rows

    suites = [row.suite.source for row in held_out_rows()]
    sources = [kernel.source for kernel in published_kernels().values()]
    return clone_lines([*sources, *suites], checkouts)


def _held_out(arguments: argparse.Namespace) -> list[Evaluated]:
    """The outcomes of the rows of test suites that --arch and --family leave."""
    from neuron_sim.fidelity.held_out.evaluate import evaluate
    from neuron_sim.fidelity.held_out.rows import held_out_rows

    if arguments.sources is None or arguments.data is not None:
        arguments.subparser.error("--held-out needs --sources, and takes no --data")
    _check_sources(arguments)
    counted = _of_choice([row.measurement for row in held_out_rows()], arguments, "held-out rows")
    rows = [row for row in held_out_rows() if row.measurement in counted]
    return list(evaluate(rows, arguments.sources, arguments.architecture))


def _check_sources(arguments: argparse.Namespace) -> None:
    if not arguments.sources.is_dir():
        arguments.subparser.error(f"--sources {arguments.sources}: there is no such folder")


def _check_architecture(arguments: argparse.Namespace) -> None:
    """Says what is wrong with --architecture before anything is timed."""
    from neuron_sim import _core

    if arguments.architecture is None:
        return
    if arguments.arch is None:
        arguments.subparser.error("--architecture needs --arch, the core that it describes")
    _core.architecture_facts(arguments.architecture)


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text)
    except OSError as error:
        raise ValueError(f"'{path}' cannot be written: {error.strerror}.") from None


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


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.4g} {unit}"


def _case_line(case: dict[str, Any], width: int) -> str:
    start = f"{case['id']:<{width}}  {_number(case['measured'], case['unit']):>15}"
    if case["simulated"] is None:
        return f"{start}  {case['reason']}"
    simulated = _number(case["simulated"], case["unit"])
    return f"{start}  {simulated:>15}  {case['error_percent']:>+8.1f} %  {case['stack']}"


def _statistics_line(name: str, statistics: dict[str, Any], width: int) -> str:
    rank = statistics["rank_correlation"]
    return (
        f"{name:<{width}} {statistics['cases']:>6} {statistics['mape_percent']:>8.1f} "
        f"{statistics['median_percent']:>8.1f} {statistics['worst_percent']:>+8.1f} "
        f"{statistics['bias_percent']:>+8.1f} {'-' if rank is None else format(rank, '.3f'):>8}"
    )


def _table(groups: dict[str, Any]) -> Iterable[str]:
    if groups["overall"] is None:
        yield "No case has a simulated number."
        return
    width = max(len(name) for name in (*groups["families"], "overall", "family"))
    titles = ("cases", "MAPE %", "median %", "worst %", "bias %", "rank")
    yield f"{'family':<{width}} {titles[0]:>6} " + " ".join(f"{each:>8}" for each in titles[1:])
    for name, statistics in groups["families"].items():
        yield _statistics_line(name, statistics, width)
    yield _statistics_line("overall", groups["overall"], width)


def lines(report: dict[str, Any]) -> Iterable[str]:
    """The report as text: cases, families, entries without a kernel, the passes off, the noise."""
    width = max(len(case["id"]) for case in report["cases"])
    yield f"{'case':<{width}}  {'measured':>15}  {'simulated':>15}  {'error':>10}  stack"
    yield from (_case_line(case, width) for case in report["cases"])
    yield ""
    yield from _table(report)
    if report["stack"] != "off" and report["overall"] is not None:
        yield "\nWith all passes off:"
        yield from _table(report["passes_off"])
    cases = len(report["cases"])
    yield (
        f"\n{report['fitted_parameters']} fitted parameters; {cases} cases, "
        f"{len(report['without_kernel'])} of them without a kernel."
    )
    pairs, wrong = report["ladder"]["pairs"], report["ladder"]["reversed"]
    if pairs:
        names = "".join(f"; not {low} before {high}" for low, high in wrong)
        yield (
            f"Kernels for the same work, measured {DISTANCE:.0%} apart: {pairs - len(wrong)} of "
            f"{pairs} pairs in order{names}."
        )
    if report["failed"]:
        yield f"Kernels that failed: {', '.join(report['failed'])}."
    for group in report["noise"]:
        values = ", ".join(f"{value:g}" for value in group["values"])
        yield (
            f"Noise: {len(group['values'])} runs of {group['kernel']} on {group['arch']}: {values} "
            f"{group['unit']}, {group['spread_percent']:.1f} % apart."
        )
