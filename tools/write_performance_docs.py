"""Writes docs/performance.md: the host speed of the simulator beside torch's, per processor.

Usage: write_performance_docs.py [--check | --measured FILE]

The page is made of docs/performance.json. --measured first stores there a report of all rows or of
some, `python benchmarks/bench_speed.py --json`: they replace those of this kind of processor, and
other processors keep their columns. --check writes nothing and ends with 1 if the page is stale.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generated_page import fill, write_or_check

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "models")]
ROWS = importlib.import_module("speed.rows").ROWS

PAGE = ROOT / "docs/performance.md"
STORED = ROOT / "docs/performance.json"
SCALING = "scaling"
"""The row of two threads, which has a table of its own."""
KEPT = ("name", "value", "ours", "other", "pair_unit", "note")
"""What is stored of a figure; unit and goal are those of speed.rows."""

Column = dict[str, Any]
"""What one kind of processor measured: `host`, `repetitions`, and `rows`, each with its date."""


def load_stored() -> list[Column]:
    """docs/performance.json, the column that was measured last first."""
    columns: list[Column] = json.loads(STORED.read_text(encoding="utf-8"))
    return columns


def with_report(columns: list[Column], report: dict[str, Any]) -> list[Column]:
    """The columns after a report; rows that it lacks stay in its processor's column."""
    processor = report["host"]["processor"]
    before = [each for each in columns if each["host"]["processor"] == processor]
    rows = {entry["name"]: entry for each in before for entry in each["rows"]}
    for entry in report["rows"]:
        figures = [{key: figure[key] for key in KEPT} for figure in entry["figures"]]
        rows[entry["name"]] = {"name": entry["name"], "date": report["date"], "figures": figures}
    order = [each.name for each in ROWS]
    column = {
        "host": report["host"],
        "repetitions": report["repetitions"],
        "rows": sorted(
            (rows[name] for name in rows if name in order),
            key=lambda entry: order.index(entry["name"]),
        ),
    }
    return [column, *(each for each in columns if each["host"]["processor"] != processor)]


def values(column: Column) -> dict[tuple[str, str], dict[str, Any]]:
    """The figures of a column by row and name."""
    return {
        (entry["name"], figure["name"]): figure
        for entry in column["rows"]
        for figure in entry["figures"]
    }


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


def goal_text(goal: Any) -> str:
    """A `speed.figures.Goal` with its direction; "-" for none."""
    if goal is None:
        return "-"
    return f"{'>=' if goal.at_least else '<='} {goal.limit:g}"


def cell(figure: dict[str, Any] | None, goal: Any) -> str:
    """A value, bold where it misses the goal; "-" where it was not measured."""
    if figure is None or figure["value"] is None:
        return "-"
    text = number(figure["value"])
    return f"**{text}**" if goal is not None and not goal.met(figure["value"]) else text


def figures() -> Iterator[tuple[str, str, str, Any]]:
    """Row, name, unit and goal of every figure except those of row SCALING."""
    for each in ROWS:
        if each.name != SCALING:
            for name, (unit, goal) in each.figures.items():
                yield each.name, name, unit, goal


def letter(index: int) -> str:
    """What the table calls a column."""
    return chr(ord("A") + index)


def table(columns: list[Column]) -> list[str]:
    """One line per figure."""
    letters = [letter(index) for index in range(len(columns))]
    lines = [row(["row", "figure", "unit", "goal", *letters, "ours; other (A)"])]
    lines.append("|---|---|---|---:|" + "---:|" * len(columns) + "---|")
    measured = [values(each) for each in columns]
    for name, figure, unit, goal in figures():
        found = [each.get((name, figure)) for each in measured]
        behind = "" if found[0] is None else pair(found[0])
        texts = [cell(each, goal) for each in found]
        lines.append(row([f"`{name}`", figure, unit, goal_text(goal), *texts, behind]))
    return lines


def judged(column: Column) -> tuple[int, int]:
    """How many goals a column meets, and of how many that it measured."""
    found = values(column)
    goals = [(found.get((name, figure)), goal) for name, figure, _, goal in figures()]
    met = [goal.met(each["value"]) for each, goal in goals if each is not None and goal is not None]
    return sum(each is True for each in met), sum(each is not None for each in met)


def host_table(columns: list[Column]) -> list[str]:
    """One line per processor."""
    header = ["", "processor", "fp32 peak, GFLOP/s", "measured", "torch", "Python", "load", "goals"]
    lines = [row(header), "|---|---|---:|---|---|---|---|---|"]
    for index, column in enumerate(columns):
        host, (met, goals) = column["host"], judged(column)
        dates = sorted({entry["date"] for entry in column["rows"]})
        cells = [letter(index), host["processor"], number(host.get("peak")), dates[0]]
        if len(dates) > 1:
            cells[-1] += f" to {dates[-1]}"
        cells += [host["torch"], host["python"], f"{host['load_before']}, {host['load_after']}"]
        lines.append(row([*cells, f"{met} of {goals} met"]))
    return lines


def scaled(column: Column) -> dict[str, dict[str, dict[str, Any]]]:
    """The figures of the threads by case, then by name."""
    (entry,) = (each for each in column["rows"] if each["name"] == SCALING)
    cases: dict[str, dict[str, dict[str, Any]]] = {}
    for figure in entry["figures"]:
        case, _, name = figure["name"].partition(", ")
        cases.setdefault(case, {})[name] = figure
    return cases


WALL = ("wall", "torch, wall")


def reliability(column: Column) -> str:
    """What the load of the machine leaves of wall times."""
    host = column["host"]
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


def scaling_table(column: Column) -> list[str]:
    """One row per case."""
    header = ["", "one thread s", "busier of two s", "times as fast", "share on one thread"]
    lines = [row([*header, "bound", "wall, times as fast", "torch, wall"])]
    lines.append("|---|---:|---:|---:|---:|---:|---:|---:|")
    for case, found in scaled(column).items():
        spent, speed_up = found["processor"], found["processor"]["value"]
        cells = [case, number(spent["ours"]), number(spent["other"]), f"{speed_up:.2f}"]
        cells += [f"{serial_share(speed_up):.0%}", bound(speed_up)]
        lines.append(row([*cells, *(f"{found[name]['value']:.2f}" for name in WALL)]))
    return lines


def limits(column: Column) -> dict[str, str]:
    """The figures of the paragraph on more threads, from the measured shares."""
    cases = scaled(column)
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


def page(columns: list[Column] | None = None) -> str:
    """The whole page."""
    columns = columns or load_stored()
    threads = next(each for each in columns if SCALING in [row["name"] for row in each["rows"]])
    return fill(
        PAGE.name,
        {
            **limits(threads),
            "processors": threads["host"]["processors"],
            "repetitions": columns[0]["repetitions"][0],
            "long_repetitions": columns[0]["repetitions"][1],
            "hosts": "\n".join(host_table(columns)),
            "table": "\n".join(table(columns)),
            "rows": "\n".join(
                f"- `{each.name}`: {each.measured}." for each in ROWS if each.name != SCALING
            ),
            "scaling_host": threads["host"]["processor"],
            "reliability": reliability(threads),
            "scaling": "\n".join(scaling_table(threads)),
        },
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measured", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    if options.measured is not None:
        report = json.loads(options.measured.read_text(encoding="utf-8"))
        columns = with_report(load_stored(), report)
        STORED.write_text(json.dumps(columns, indent=1) + "\n", encoding="utf-8")
    return write_or_check(PAGE, page())


if __name__ == "__main__":
    raise SystemExit(main())
