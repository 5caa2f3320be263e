#!/usr/bin/env python3
"""Writes docs/performance.md: the host speed of the simulator beside torch's.

Usage: write_performance_docs.py [--check | --measured FILE]

The page is made of docs/performance.json. --measured stores there the report of all rows, `python
benchmarks/bench_speed.py --json`, first: a table is one run. --check writes nothing and ends with 1
if the page is stale.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generated_page import fill, write_or_check

FOLDER = Path(__file__).resolve().parents[1] / "docs"
PAGE = FOLDER / "performance.md"
STORED = FOLDER / "performance.json"
SCALING = "scaling"
"""The row of two threads, which has a table of its own."""


def load_stored() -> dict[str, Any]:
    """docs/performance.json."""
    stored: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return stored


def row(cells: list[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join(cells) + " |"


def number(value: float | None) -> str:
    """Three digits, whole from 100 on; "-" for none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def pair(figure: dict[str, Any]) -> str:
    """The two numbers behind a figure, or its note."""
    texts = []
    if figure["ours"] is not None:
        unit = figure["pair_unit"]
        texts.append(f"{number(figure['ours'])} {unit}; {number(figure['other'])} {unit}")
    if figure["note"]:
        texts.append(figure["note"])
    return "; ".join(texts)


def goal(figure: dict[str, Any]) -> str:
    """The goal with its direction; "-" for none."""
    if figure["goal"] is None:
        return "-"
    return f"{'>=' if figure['at_least'] else '<='} {figure['goal']:g}"


def met(figure: dict[str, Any]) -> str:
    """Whether the goal is met, in words."""
    if figure["value"] is None:
        return "not measured"
    return {None: "-", True: "yes", False: "**no**"}[figure["met"]]


def figures(stored: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every figure with the name of its row, but those of the threads."""
    for each in stored["rows"]:
        if each["name"] != SCALING:
            yield from ((each["name"], figure) for figure in each["figures"])


def table(stored: dict[str, Any]) -> list[str]:
    """One row per figure."""
    lines = [row(["row", "figure", "now", "unit", "goal", "met", "ours; other"])]
    lines.append("|---|---|---:|---|---:|---|---|")
    for name, figure in figures(stored):
        cells = [f"`{name}`", figure["name"], number(figure["value"]), figure["unit"]]
        lines.append(row([*cells, goal(figure), met(figure), pair(figure)]))
    return lines


def scaled(stored: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """The figures of the threads by case, then by name."""
    (entry,) = (each for each in stored["rows"] if each["name"] == SCALING)
    cases: dict[str, dict[str, dict[str, Any]]] = {}
    for figure in entry["figures"]:
        case, _, name = figure["name"].partition(", ")
        cases.setdefault(case, {})[name] = figure
    return cases


WALL = ("wall", "torch, wall")


def reliability(stored: dict[str, Any]) -> str:
    """What the load of the machine leaves of wall times."""
    host = stored["host"]
    load = max(host["load_before"], host["load_after"])
    if load < host["processors"] / 2:
        return "The machine was idle otherwise, so that wall times hold too."
    return (
        f"At a load average of up to {load:g} on {host['processors']} processors the wall times "
        "mostly measure other programs, and are only here for completeness."
    )


def serial_share(speed_up: float) -> float:
    """The share of the work that stays on one of two threads, from 0 to 1."""
    return min(1.0, max(0.0, 2 / speed_up - 1))


def bound(speed_up: float) -> str:
    """The most that any number of threads can be as fast, by that share."""
    share = serial_share(speed_up)
    return "none seen" if share < 0.005 else f"{1 / share:.0f}"


def scaling_table(stored: dict[str, Any]) -> list[str]:
    """One row per case."""
    header = ["", "one thread s", "busier of two s", "times as fast", "share on one thread"]
    lines = [row([*header, "bound", "wall, times as fast", "torch, wall"])]
    lines.append("|---|---:|---:|---:|---:|---:|---:|---:|")
    for case, found in scaled(stored).items():
        spent, speed_up = found["processor"], found["processor"]["value"]
        cells = [case, number(spent["ours"]), number(spent["other"]), f"{speed_up:.2f}"]
        cells += [f"{serial_share(speed_up):.0%}", bound(speed_up)]
        lines.append(row([*cells, *(f"{found[name]['value']:.2f}" for name in WALL)]))
    return lines


def limits(stored: dict[str, Any]) -> dict[str, str]:
    """The figures of the paragraph on more threads, from the measured shares."""
    cases = scaled(stored)
    shares = [
        f"{serial_share(found['processor']['value']):.0%} of {case}"
        for case, found in cases.items()
    ]
    product = cases["convolution"]
    interval = product["processor"]["ours"] / product["instructions"]["value"] * 1e6
    return {
        "shares": ", ".join(shares),
        "instructions": f"{product['instructions']['value']:,}",
        "interval": f"{interval:.0f}",
        "interval_64": f"{interval / 64:.1f}",
    }


def page(stored: dict[str, Any] | None = None) -> str:
    """The whole page."""
    stored = stored or load_stored()
    judged = [(name, each) for name, each in figures(stored) if each["met"] is not None]
    missed: dict[str, list[str]] = {}
    for name, each in judged:
        if not each["met"]:
            missed.setdefault(name, []).append(each["name"])
    listed = "; ".join(f"`{name}` {' / '.join(names)}" for name, names in missed.items())
    host = {key: value for key, value in stored["host"].items() if key != "threads"}
    rows = [each for each in stored["rows"] if each["name"] != SCALING]
    return fill(
        PAGE.name,
        {
            **host,
            **limits(stored),
            "date": stored["date"],
            "repetitions": stored["repetitions"][0],
            "long_repetitions": stored["repetitions"][1],
            "met": sum(each["met"] for _, each in judged),
            "goals": len(judged),
            "missed": f"Missed: {listed}." if missed else "",
            "table": "\n".join(table(stored)),
            "rows": "\n".join(f"- `{each['name']}`: {each['measured']}." for each in rows),
            "reliability": reliability(stored),
            "scaling": "\n".join(scaling_table(stored)),
        },
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measured", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    if options.measured is not None:
        report = json.loads(options.measured.read_text(encoding="utf-8"))
        if SCALING not in [each["name"] for each in report["rows"]]:
            raise ValueError(
                f"{options.measured.name} has no row '{SCALING}': a page is of all rows."
            )
        STORED.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return write_or_check(PAGE, page())


if __name__ == "__main__":
    raise SystemExit(main())
