#!/usr/bin/env python3
"""Writes docs/fidelity.md and docs/fidelity.svg: how far simulated times are from measured ones.

Usage: write_fidelity_docs.py [--check | --page | --published FILE | --held-out FILE |
                              --thresholds FILE | --variants FILE | --left-out FILE]

Without options everything but the authors' files is computed again and stored in
docs/fidelity.json. --published stores the report of `neuron-sim fidelity --sources DIR --output`
and writes the page; --held-out does so for `neuron-sim fidelity --sources DIR --held-out --output`,
and writes the errors behind the intervals of simulated times; --thresholds, --variants and
--left-out for `neuron-sim fidelity --sources DIR --thresholds --output`, the same with --variants,
and `neuron-sim fidelity --leave-one-author-out --output`; --page only writes the page of what is
stored; --check writes nothing and ends with 1 if the page or those errors differ from the stored
reports.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import evidence_tables
import fidelity_tables as tables
import neuron_sim._core as core
from generated_page import fill, write_or_check
from neuron_sim.fidelity.evaluate import evaluate
from neuron_sim.fidelity.measurement import load_measurements
from neuron_sim.fidelity.plot import draw
from neuron_sim.fidelity.replay.compare import compare, figures
from neuron_sim.fidelity.replay.program import build_replay
from neuron_sim.fidelity.replay.reader import TRACES, read_trace, trace_names
from neuron_sim.fidelity.report import report
from neuron_sim.timeline.interval import MeasuredError

FOLDER = Path(__file__).resolve().parents[1] / "docs"
PAGE = FOLDER / "fidelity.md"
STORED = FOLDER / "fidelity.json"
ERRORS = FOLDER.parent / "python_bindings/neuron_sim/timeline/measured_errors.json"
"""The errors behind intervals, in the source tree."""


def suite_report() -> dict[str, Any]:
    """The report of the published measurements; settings once per stack."""
    measurements = load_measurements()
    counted = [measurement for measurement in measurements if measurement.split == "calibration"]
    result = report([evaluate(each) for each in counted], repeats=measurements)
    published = core.published_stacks()
    used = {case["stack"] for case in result["cases"] if case["stack"] is not None}
    names = {name for stack in used for name in stack.split(" + ")}
    result["stacks"] = {name: stack for name, stack in published.items() if name in names}
    for case in result["cases"]:
        del case["settings"]
    return result


def published_report(path: Path) -> dict[str, Any]:
    """What the page says of the authors' files, out of the command's report."""
    report = json.loads(path.read_text(encoding="utf-8"))
    keys = ("id", "simulated", "error_percent", "profile", "reason")
    cases = [{key: case[key] for key in keys if key in case} for case in report["cases"]]
    kept = ("families", "overall", "failed", "ladder")
    return {key: report[key] for key in kept} | {"cases": cases}


def held_out_report(path: Path) -> dict[str, Any]:
    """What the page says of the kernels that no rule was fitted to, out of the command's report."""
    report = json.loads(path.read_text(encoding="utf-8"))
    keys = ("id", "family", "kind", "measured", "simulated", "error_percent", "reason", "stack")
    cases = [{key: case[key] for key in keys if key in case} for case in report["cases"]]
    return {key: report[key] for key in ("families", "overall", "failed")} | {"cases": cases}


def read_report(path: Path) -> dict[str, Any]:
    """A report of the command that is stored as it is."""
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


REPORTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "published": published_report,
    "held_out": held_out_report,
    "thresholds": read_report,
    "variants": read_report,
    "left_out": read_report,
}
"""Reports of commands that are stored one by one, and what is kept of each."""


def measured_errors(stored: dict[str, Any]) -> list[MeasuredError]:
    """The errors of the kernels that no rule was fitted to."""
    return [
        MeasuredError(case["family"], case["kind"], round(case["measured"] / case["simulated"], 4))
        for case in (stored["held_out"] or {"cases": []})["cases"]
        if case["simulated"] is not None
    ]


def errors_text(stored: dict[str, Any]) -> str:
    """The file of the errors behind intervals."""
    lines = [
        json.dumps(dataclasses.asdict(measured_error)) for measured_error in measured_errors(stored)
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def replay_figures() -> list[dict[str, Any]]:
    """The figures of every trace and of all together."""
    window = core.architecture_facts("trn2")["tensor.gate_window"]["value"]
    compared = [
        compare(build_replay(read_trace(TRACES, name)), window=window) for name in trace_names()
    ]
    rows = [_figures(each.name, [each]) for each in compared]
    return [*rows, _figures("all", compared)] if rows else []


def _figures(name: str, compared: list[Any]) -> dict[str, Any]:
    found = figures(compared)
    bodies = [each.body_error for each in compared]
    body = bodies[0] if len(bodies) == 1 else statistics.fmean(map(abs, bodies))
    return {
        "trace": name,
        "instructions": found.instructions,
        "duration_percent": round(100 * found.duration_error, 4),
        "interval_percent": round(100 * found.interval_error, 4),
        "start_ns": round(found.start_error, 2),
        "body_percent": round(100 * body, 4),
    }


def _figures_of(stored: dict[str, Any]) -> dict[str, str]:
    """What fills the places of the template: numbers and tables."""
    suite = stored["fidelity"]
    keys = [
        f"{architecture}: {', '.join(f'`{key}`' for key in names) or 'none'}"
        for architecture, names in suite["fitted_parameter_keys"].items()
    ]
    return {
        "simulated": str(sum(case["simulated"] is not None for case in suite["cases"])),
        "cases": str(len(suite["cases"])),
        "mape": format(suite["overall"]["mape_percent"], ".1f"),
        "median": format(suite["overall"]["median_percent"], ".1f"),
        "mape_passes_off": format(suite["passes_off"]["overall"]["mape_percent"], ".1f"),
        "fitted": str(suite["fitted_parameters"]),
        "fitted_parameters": "; ".join(keys),
        "families": "\n".join(tables.families(suite)),
        "ladder": tables.ladder(suite),
        "authors_files_ladder": tables.ladder(stored["published"]),
        "authors_files": "\n".join(tables.foreign_files(stored["published"])),
        "held_out": "\n".join(evidence_tables.held_out(stored["held_out"])),
        "intervals": "\n".join(tables.intervals(measured_errors(stored))),
        "thresholds": "\n".join(evidence_tables.thresholds(stored["thresholds"])),
        "profiles": "\n".join(evidence_tables.profiles(stored["published"])),
        "variants": "\n".join(evidence_tables.variants(stored["variants"])),
        "left_out": "\n".join(evidence_tables.left_out(stored["left_out"])),
        "noise": "\n".join(tables.noise(suite)),
        "misses": "\n".join(tables.misses(suite)),
        "stacks": "\n".join(tables.stacks(suite)),
        "replay": "\n".join(tables.replay(stored["replay"])),
        "bits": "\n".join(evidence_tables.bits()),
    }


def page(stored: dict[str, Any] | None = None) -> str:
    """The template with what is stored."""
    return fill(PAGE.name, _figures_of(stored or load_stored()))


def load_stored() -> dict[str, Any]:
    """docs/fidelity.json, or nothing when it is not there."""
    empty: dict[str, Any] = {"fidelity": None, "published": None, "held_out": None}
    empty |= {"thresholds": None, "variants": None, "left_out": None, "replay": []}
    if not STORED.is_file():
        return empty
    return {**empty, **json.loads(STORED.read_text(encoding="utf-8"))}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true")
    how.add_argument("--page", action="store_true")
    for name in REPORTS:
        how.add_argument(f"--{name.replace('_', '-')}", type=Path, metavar="FILE")
    parsed = parser.parse_args(arguments)
    stored = load_stored()
    given = [name for name in REPORTS if getattr(parsed, name) is not None]
    for name in given:
        stored[name] = REPORTS[name](getattr(parsed, name))
    if not (given or parsed.page or parsed.check):
        stored["fidelity"], stored["replay"] = suite_report(), replay_figures()
        draw(stored["fidelity"]["cases"], FOLDER / "fidelity.svg")
    if not (parsed.page or parsed.check):
        STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    stale = write_or_check(PAGE, page(stored)) + write_or_check(ERRORS, errors_text(stored))
    return min(stale, 1)


if __name__ == "__main__":
    raise SystemExit(main())
