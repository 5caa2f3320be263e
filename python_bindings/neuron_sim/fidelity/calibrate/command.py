"""Fits parameters of an architecture to measured latencies and instruction traces.

  neuron-sim calibrate --arch trn2 --dry-run
  neuron-sim calibrate --arch trn2 --parameters launch.benchmark=5000:20000 --overlay mine.toml

Least squares with bounds. Parameters that the data does not determine are refused by name. The
result goes into an overlay of fitted values; the hand-written files stay as they are.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_sim.fidelity.measurement import PUBLISHED, Measurement, load_measurements
from neuron_sim.terminal.arguments import print_result
from neuron_sim.terminal.exit_codes import FAILURE, SUCCESS
from neuron_sim.terminal.json_output import add_json

if TYPE_CHECKING:
    from neuron_sim.fidelity.calibrate.fit import Fit
    from neuron_sim.fidelity.calibrate.problem import Block, Problem

SUMMARY = "fit parameters of an architecture to measurements and traces"
FAILS = "a named parameter is refused, or none could be fitted"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("--arch", choices=("trn1", "trn2"), required=True, help="the core")
    parser.add_argument(
        "--parameters",
        metavar="KEY[=LOW:HIGH]",
        nargs="+",
        default=[],
        help="dotted keys of the architecture file, with bounds, else half to double; without "
        "any, the times and rates that are fitted or assumed so far",
    )
    parser.add_argument(
        "--families", metavar="F", nargs="+", help="only measurements of these families"
    )
    parser.add_argument("--data", metavar="FILE", type=Path, help="other measurements")
    parser.add_argument(
        "--traces",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="fit to the durations and intervals of traced instructions, too",
    )
    parser.add_argument(
        "--cross-validation",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="fit again without each family and each trace",
    )
    parser.add_argument(
        "--overlay",
        metavar="FILE",
        type=Path,
        help="where fitted values go; default: device/arch/fitted/<arch>.toml of the source tree",
    )
    parser.add_argument("--dry-run", action="store_true", help="write no overlay")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Fits and prints; FAILURE when a named parameter is refused, or none could be fitted."""
    import tempfile

    from neuron_sim.fidelity.calibrate.fit import fit
    from neuron_sim.fidelity.calibrate.parameters import named_parameters
    from neuron_sim.fidelity.calibrate.problem import Problem

    overlay = None if arguments.dry_run else _overlay(arguments)
    with tempfile.TemporaryDirectory() as folder:
        parameters, refused = named_parameters(arguments.arch, arguments.parameters, Path(folder))
    blocks, left_out, data_hash = _data(arguments)
    problem = Problem(arguments.arch, parameters, blocks)
    result = fit(problem, problem.groups)
    result.refused.update(refused)
    report = _report(problem, result, arguments.cross_validation)
    report.update(data_hash=data_hash, left_out=left_out)
    print_result(arguments, report, lambda: print("\n".join(lines(report))))
    if overlay is not None and result.standard_errors:
        _write(overlay, problem, result, data_hash)
        print(f"Wrote {overlay}.")
    named_and_refused = bool(arguments.parameters) and bool(result.refused)
    return FAILURE if named_and_refused or not result.standard_errors else SUCCESS


def _overlay(arguments: argparse.Namespace) -> Path:
    """Where the overlay goes; ValueError before any work when it cannot."""
    from neuron_sim.fidelity.calibrate.files import FOLDER, check_overlay

    path = arguments.overlay
    if path is None:
        if not FOLDER.parent.is_dir():
            raise ValueError(
                f"there is no {FOLDER.parent} here: name the overlay with --overlay, or say "
                "--dry-run."
            )
        path = FOLDER / f"{arguments.arch}.toml"
    check_overlay(path)
    return path


def _data(arguments: argparse.Namespace) -> tuple[list[Block], dict[str, str], str]:
    """The blocks of residuals, the measurements without one, the hash of the files."""
    from neuron_sim.fidelity.calibrate.data import TRACED, latency_blocks, trace_blocks
    from neuron_sim.fidelity.calibrate.files import hash_files

    path = PUBLISHED if arguments.data is None else arguments.data
    chosen = [each for each in load_measurements(path) if _counts(each, arguments)]
    blocks, left_out = latency_blocks(chosen)
    files = [path]
    if arguments.traces and arguments.arch in TRACED:
        blocks += trace_blocks(arguments.arch)
        files += sorted(TRACED[arguments.arch].glob("*_*"))
    if not blocks:
        raise ValueError("there is nothing to fit to: no measurement has a kernel, and no trace.")
    return blocks, left_out, hash_files(files)


def _counts(measurement: Measurement, arguments: argparse.Namespace) -> bool:
    return (
        measurement.architecture == arguments.arch
        and (arguments.families is None or measurement.family in arguments.families)
        and (arguments.data is not None or measurement.split == "calibration")
    )


def _report(problem: Problem, result: Fit, validate: bool) -> dict[str, Any]:
    """The printed report as JSON: parameters, refusals, errors before and after the fit."""
    import dataclasses

    from neuron_sim.fidelity.calibrate.cross_validation import cross_validate, group_errors, overall
    from neuron_sim.fidelity.calibrate.sensitivity import sensitivities

    sensitivity = sensitivities(problem, result.positions)
    errors = (cross_validate if validate else group_errors)(problem, result)
    parameters = []
    for place, each in enumerate(problem.parameters):
        parameters.append(
            {
                **dataclasses.asdict(each),
                "value": each.value(float(result.positions[place])),
                "standard_error": result.standard_errors.get(each.key),
                "sensitivity": dataclasses.asdict(sensitivity[each.key]),
            }
        )
    kinds = dict.fromkeys(each.kind for each in errors)
    return {
        "arch": problem.architecture,
        "parameters": parameters,
        "refused": result.refused,
        "errors": [dataclasses.asdict(each) for each in errors],
        "overall": {
            kind: {
                which: overall(errors, kind, which) for which in ("before", "training", "left_out")
            }
            for kind in kinds
        },
        "residuals": sum(each.residuals for each in errors),
        "evaluations": problem.evaluations,
    }


def _write(path: Path, problem: Problem, result: Fit, data_hash: str) -> None:
    from neuron_sim.fidelity.calibrate.files import FittedValue, write_overlay

    values = [
        FittedValue(
            each.key,
            each.value(float(position)),
            result.standard_errors[each.key],
            each.unit,
        )
        for each, position in zip(problem.parameters, result.positions, strict=True)
        if each.key in result.standard_errors
    ]
    write_overlay(
        path,
        problem.architecture,
        values,
        source=f"neuron-sim calibrate: {', '.join(problem.groups)}",
        date=datetime.date.today().isoformat(),
        data_hash=data_hash,
    )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _parameter_lines(parameters: Sequence[dict[str, Any]]) -> Iterable[str]:
    width = max([len(each["key"]) for each in parameters] + [9])
    yield (
        f"{'parameter':<{width}} {'before':>10} {'fitted':>10} {'std. error':>10} {'unit':<9} "
        f"{'sensitivity':>11}  most in"
    )
    for each in parameters:
        error = each["standard_error"]
        fitted = "refused" if error is None else f"{each['value']:.5g}"
        follow = each["sensitivity"]
        yield (
            f"{each['key']:<{width}} {each['start']:>10.5g} {fitted:>10} "
            f"{'-' if error is None else format(error, '.2g'):>10} {each['unit']:<9} "
            f"{follow['mean']:>11.3f}  {follow['group']} ({follow['most']:.3f})"
        )


def _error_lines(report: dict[str, Any]) -> Iterable[str]:
    width = max(len(each["group"]) for each in report["errors"])
    yield (
        f"\n{'error in %':<{width}} {'of':<9} {'number':>6} {'before':>8} {'training':>8} "
        f"{'left out':>8}"
    )
    for each in report["errors"]:
        numbers = " ".join(f"{_percent(each[key]):>8}" for key in ("before", "training"))
        yield (
            f"{each['group']:<{width}} {each['kind']:<9} {each['residuals']:>6} {numbers} "
            f"{_percent(each['left_out']):>8}"
        )
    for kind, figures in report["overall"].items():
        count = sum(each["residuals"] for each in report["errors"] if each["kind"] == kind)
        numbers = " ".join(f"{_percent(value):>8}" for value in figures.values())
        yield f"{'overall':<{width}} {kind:<9} {count:>6} {numbers}"


def lines(report: dict[str, Any]) -> Iterable[str]:
    """The report as text. Sensitivity: percent of change for a parameter that is 1 % larger."""
    yield from _parameter_lines(report["parameters"])
    for key, reason in report["refused"].items():
        yield f"refused: {key}: {reason}."
    yield from _error_lines(report)
    fitted = sum(each["standard_error"] is not None for each in report["parameters"])
    yield f"\n{fitted} parameters fitted to {report['residuals']} residuals."
