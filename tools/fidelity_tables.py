"""Tables of docs/fidelity.md, from the stored reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuron_sim.fidelity.coverage import left_out_coverage
from neuron_sim.timeline.interval import KINDS, MeasuredError, interval

MISSES = Path(__file__).resolve().parent / "templates" / "fidelity_misses.md"
"""Beginnings of the ids of cases, and the mechanism that is missing."""

ERROR_TITLES = "cases;MAPE %;median %;worst %;bias %;rank correlation"
"""Titles of the numbers of a group of cases."""

LARGE_ERROR = 20
"""Percent from which a case needs a reason."""


def number(value: float | None, form: str = ",.4g") -> str:
    """A number or a dash."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 and form == ",.4g" else format(value, form)


def row(cells: Iterable[object]) -> str:
    """One line of a table; bars inside a cell are escaped."""
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def table(titles: str, alignment: str, rows: Iterable[Sequence[object]]) -> list[str]:
    """A table; `titles` separated by ";", `alignment` one of l, r per column."""
    marks = {"l": "---", "r": "---:"}
    lines = [row(titles.split(";")), "|" + "|".join(marks[each] for each in alignment) + "|"]
    return lines + [row(each) for each in rows]


def statistics_cells(
    name: str, each: Mapping[str, Any], off: Mapping[str, Any] | None
) -> list[object]:
    """A row of errors; the last cell is that with all passes off."""
    return [
        name,
        each["cases"],
        number(each["mape_percent"], ".1f"),
        number(each["median_percent"], ".1f"),
        number(each["worst_percent"], "+.1f"),
        number(each["bias_percent"], "+.1f"),
        number(each["rank_correlation"], ".3f"),
        number(off["mape_percent"] if off else None, ".1f"),
    ]


def families(report: Mapping[str, Any]) -> list[str]:
    """Errors per family and overall, with all passes off beside them."""
    off = report["passes_off"]
    rows = [
        statistics_cells(name, each, off["families"].get(name))
        for name, each in report["families"].items()
    ]
    if report["overall"] is not None:
        rows.append(statistics_cells("**overall**", report["overall"], off["overall"]))
    titles = f"family;{ERROR_TITLES};MAPE %, passes off"
    return table(titles, "lrrrrrrr", rows)


def ladder(report: Mapping[str, Any] | None) -> str:
    """Pairs of kernels for the same work that are in the measured order."""
    if report is None:
        return "No run is stored."
    pairs, wrong = report["ladder"]["pairs"], report["ladder"]["reversed"]
    names = "; ".join(f"`{low}` was measured before `{high}`" for low, high in wrong)
    text = f"{pairs - len(wrong)} of {pairs} pairs are in the measured order"
    return f"{text}. The others: {names}." if wrong else f"{text}."


def intervals(errors: Sequence[MeasuredError]) -> list[str]:
    """Intervals by kind, and how often they hold for a family that is left out."""
    if not errors:
        return ["No run is stored."]
    rows: list[list[object]] = []
    for kind in dict.fromkeys(KINDS.values()):
        found = interval(kind, errors)
        low, high = (number(100 * (end - 1), "+.0f") for end in (found.low, found.high))
        rows.append([kind, sum(error.kind == kind for error in errors), found.kernels, low, high])
    lines = table("bound by;measured kernels;used for the interval;from %;to %", "lrrrr", rows)
    counts = left_out_coverage(errors)
    counts["**all**"] = (sum(n for n, _ in counts.values()), len(errors))
    rows = [[name, total, f"{inside / total:.0%}"] for name, (inside, total) in counts.items()]
    return [*lines, "", *table("left out;kernels;inside", "lrr", rows)]


def foreign_files(published: Mapping[str, Any] | None) -> list[str]:
    """Errors of the authors' own files per family, and the kernels that did not run."""
    if published is None or published["overall"] is None:
        return ["No run is stored."]
    groups = {**published["families"], "**overall**": published["overall"]}
    rows = [statistics_cells(name, each, None)[:-1] for name, each in groups.items()]
    titles = f"family;{ERROR_TITLES}"
    reasons = {case["id"]: case.get("reason") for case in published["cases"]}
    failed = [[f"`{each}`", reasons[each]] for each in published["failed"]]
    lines = table(titles, "lrrrrrr", rows)
    return lines + ["", *table("does not run;reason", "ll", failed)] if failed else lines


def stacks(report: Mapping[str, Any]) -> list[str]:
    """The published compiler versions that the cases use, with where their passes come from."""
    rows = [
        [
            f"`{name}`",
            stack["compiler"],
            sum(map(bool, stack["settings"].values())),
            stack["source"],
        ]
        for name, stack in report["stacks"].items()
    ]
    return table("stack;compiler;settings on;source", "llrl", rows)


def mechanisms(text: str) -> list[tuple[tuple[str, ...], str]]:
    """The rows of MISSES: beginnings of ids, and the mechanism."""
    found = re.findall(r"^\| (`.+`) \| (.+) \|$", text, re.MULTILINE)
    return [(tuple(re.findall(r"`(.+?)`", cases)), mechanism) for cases, mechanism in found]


def reason(identifier: str, text: str) -> str:
    """The mechanism that a missed case lacks."""
    for beginnings, mechanism in mechanisms(text):
        if identifier.startswith(beginnings):
            return mechanism
    return "not explained"


def misses(report: Mapping[str, Any], text: str | None = None) -> list[str]:
    """Cases with an error of more than LARGE_ERROR, the worst first; `text`: as MISSES."""
    text = text or MISSES.read_text(encoding="utf-8")
    missed = [
        case
        for case in report["cases"]
        if case["error_percent"] is not None and abs(case["error_percent"]) > LARGE_ERROR
    ]
    missed.sort(key=lambda case: -abs(case["error_percent"]))
    if not missed:
        return ["None."]
    rows = [
        [f"`{case['id']}`", number(case["error_percent"], "+.1f"), reason(case["id"], text)]
        for case in missed
    ]
    return table("case;error %;what is missing", "lrl", rows)


def noise(report: Mapping[str, Any]) -> list[str]:
    """How far runs of one kernel are apart."""
    return [
        f"- {each['kernel']} on {each['arch']}, {len(each['values'])} runs: "
        f"{', '.join(number(value) for value in each['values'])} {each['unit']}, "
        f"{each['spread_percent']:.1f} % apart."
        for each in report["noise"]
    ]


def replay(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line per trace and one for all."""
    rows = [
        [
            figure["trace"],
            figure["instructions"],
            number(figure["duration_percent"], ".2f"),
            number(figure["interval_percent"], ".2f"),
            number(figure["start_ns"], ".0f"),
            number(figure["body_percent"], "+.2f"),
        ]
        for figure in figures
    ]
    titles = (
        "trace;instructions;median error of duration %;median error of interval %;"
        "mean error of start ns;error of body %"
    )
    return table(titles, "lrrrrr", rows)
