"""The result of the suite as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from neuron_sim.fidelity.ladders import DISTANCE


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
    """The report as text: cases, what profiles state of them, families, entries without a kernel,
    the passes off, the noise."""
    width = max(len(case["id"]) for case in report["cases"])
    yield f"{'case':<{width}}  {'measured':>15}  {'simulated':>15}  {'error':>10}  stack"
    yield from (_case_line(case, width) for case in report["cases"])
    for case in report["cases"]:
        for key, each in case.get("profile", {}).items():
            yield (
                f"{case['id']}, {key}: measured {each['measured']:,.0f}, simulated "
                f"{each['simulated']:,.0f} ({each['error_percent']:+.1f} %)"
            )
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
