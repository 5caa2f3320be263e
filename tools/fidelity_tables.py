"""Tables of docs/fidelity.md, from the stored reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuron_sim.fidelity.coverage import left_out_coverage
from neuron_sim.nki.measurement.interval import KINDS, MeasuredError, interval

MISSES = Path(__file__).resolve().parents[1] / "docs" / "templates" / "fidelity_misses.md"
"""Beginnings of the ids of cases, and the mechanism that is missing."""

ERROR_TITLES = "cases;MAPE %;median %;worst %;bias %;rank correlation"
"""Of the numbers of a group of cases."""

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
        rows.append([kind, sum(each.kind == kind for each in errors), found.kernels, low, high])
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


def cases(report: Mapping[str, Any], published: Mapping[str, Any] | None = None) -> list[str]:
    """Every case with its stack; `published`: the same for the authors' files."""
    of_files = {case["id"]: case["error_percent"] for case in (published or {"cases": []})["cases"]}
    rows = []
    for case in report["cases"]:
        known = case["simulated"] is not None
        rows.append(
            [
                f"`{case['id']}`",
                case["kernel"],
                case["metric"],
                f"{number(case['measured'])} {case['unit']}",
                number(case["simulated"]) if known else case["reason"],
                number(case["error_percent"], "+.1f"),
                number(of_files.get(case["id"]), "+.1f"),
                (case["stack"] or "-") + _remark(case),
                number(case["passes_off_error_percent"], "+.1f"),
            ]
        )
    titles = "case;kernel;metric;measured;simulated;error %;error %, author's file;stack;"
    return table(titles + "error %, passes off", "lllrrrrlr", rows)


def _remark(case: Mapping[str, Any]) -> str:
    """What became of the passes, where it was not all that the stack says."""
    if "passes_objection" in case:
        return " (not compiled)"
    names = ", ".join(f"`{name}`" for name in case.get("skipped_passes", ()))
    return f" (did not fit: {names})" if names else ""


def stacks(report: Mapping[str, Any]) -> list[str]:
    """Settings of the stacks that the cases use: what is on, and numbers."""
    lines = []
    for name, stack in report["stacks"].items():
        settings = [
            key if value is True else f"{key}={value}"
            for key, value in stack["settings"].items()
            if value
        ]
        lines.append(
            f"- `{name}` (compiler {stack['compiler']}; {stack['source']}): {', '.join(settings)}."
        )
    return lines


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
            each["trace"],
            each["instructions"],
            number(each["duration_percent"], ".2f"),
            number(each["interval_percent"], ".2f"),
            number(each["start_ns"], ".0f"),
            number(each["body_percent"], "+.2f"),
        ]
        for each in figures
    ]
    titles = (
        "trace;instructions;median error of duration %;median error of interval %;"
        "mean error of start ns;error of body %"
    )
    return table(titles, "lrrrrr", rows)


def calibration(report: Mapping[str, Any]) -> list[str]:
    """Fitted parameters and errors with and without each group."""
    fitted = [each for each in report["parameters"] if each["standard_error"] is not None]
    rows: list[list[object]] = [
        [
            f"`{each['key']}`",
            number(each["start"], ".5g"),
            number(each["value"], ".5g"),
            number(each["standard_error"], ".2g"),
            each["unit"],
            number(each["sensitivity"]["mean"], ".3f"),
            each["sensitivity"]["group"],
        ]
        for each in fitted
    ]
    titles = "parameter;before;fitted;standard error;unit;sensitivity;most in"
    lines = table(titles, "lrrrlrl", rows)
    lines += ["", "Refused, because the data does not determine them: " + _refused(report), ""]
    rows = [
        [each["group"], each["kind"], each["residuals"]]
        + [number(each[key], ".2f") for key in ("before", "training", "left_out")]
        for each in report["errors"]
    ]
    for kind, figures in report["overall"].items():
        values = [number(figures[key], ".2f") for key in ("before", "training", "left_out")]
        rows.append(["**overall**", kind, "", *values])
    titles = "group;residuals of;number;before %;training %;left out %"
    return lines + table(titles, "llrrrr", rows)


def both_cores(reports: Sequence[Mapping[str, Any]]) -> str:
    """The mean error of the latencies of all calibrations together."""
    errors = [
        each
        for report in reports
        for each in report["errors"]
        if each["kind"] == "latency" and each["left_out"] is not None
    ]
    count = sum(each["residuals"] for each in errors)
    if not count:
        return "No family was left out."
    training, left_out = (
        sum(each["residuals"] * each[key] for each in errors) / count
        for key in ("training", "left_out")
    )
    names = " and ".join(sorted(report["arch"] for report in reports))
    return (
        f"**Mean absolute error of {count} latencies ({names}): {training:.1f} % after the fits, "
        f"{left_out:.1f} % with each family left out of its own fit.**"
    )


def _refused(report: Mapping[str, Any]) -> str:
    names = ", ".join(f"`{key}`" for key in report["refused"])
    return f"{names}." if names else "none."


def facts(values: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Every value of an architecture."""
    rows = []
    for key, fact in values.items():
        error = fact.get("standard_error")
        certainty = fact["certainty"] + (f" (+-{error:.2g})" if error is not None else "")
        value = format(fact["value"], ".9g")
        rows.append([f"`{key}`", value, fact["unit"], certainty, fact["source"]])
    return table("key;value;unit;certainty;source", "lrlll", rows)
