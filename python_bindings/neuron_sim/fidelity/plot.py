"""Draws measured against simulated, both logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

BANDS = (10, 20)
"""Shaded errors, in percent."""
LABELLED_ERROR = 20
LABELS = 8
"""The cases with the largest errors in percent are named: at most this many per panel."""
MARKERS = "osD^vPXhp<>d*"


def _style(families: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A distinct colour and marker for each family, by alphabetical order."""
    colours = matplotlib.color_sequences["tab10"]
    return {
        family: {"color": colours[i % len(colours)], "marker": MARKERS[i % len(MARKERS)]}
        for i, family in enumerate(sorted(families))
    }


def _limits(cases: Sequence[dict[str, Any]]) -> tuple[float, float]:
    values = [case[key] for case in cases for key in ("measured", "simulated")]
    return min(values) / 1.6, max(values) * 1.6


def _panel(axes: Axes, cases: Sequence[dict[str, Any]], styles: dict[str, Any], title: str) -> None:
    low, high = _limits(cases)
    ends = [low, high]
    axes.plot(ends, ends, color="0.3", linewidth=0.8, zorder=1)
    for percent, shade in zip(BANDS, ("0.84", "0.93"), strict=True):
        above = [end * (1 + percent / 100) for end in ends]
        below = [end * (1 - percent / 100) for end in ends]
        axes.fill_between(ends, below, above, color=shade, zorder=-percent, linewidth=0)
    for family, style in styles.items():
        group = [case for case in cases if case["family"] == family]
        measured, simulated = ([case[key] for case in group] for key in ("measured", "simulated"))
        axes.scatter(
            measured, simulated, s=36, linewidths=0.4, edgecolors="white", zorder=3, label=family,
            **style,
        )  # fmt: skip
    _name_worst(axes, cases, (low * high) ** 0.5)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, title=title, box_aspect=1)
    axes.set_xlabel("measured; shaded: within 10 % and 20 %")
    axes.set_ylabel("simulated")
    axes.grid(True, which="major", linewidth=0.3, color="0.8", zorder=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1,) if high / low > 100 else (1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(NullFormatter())


def _name_worst(axes: Axes, cases: Sequence[dict[str, Any]], middle: float) -> None:
    """Labels next to the points, towards the middle of the panel."""
    far = [case for case in cases if abs(case["error_percent"]) > LABELLED_ERROR]
    for case in sorted(far, key=lambda each: -abs(each["error_percent"]))[:LABELS]:
        on_the_right = case["measured"] > middle
        axes.annotate(
            f"{case['id']} {case['error_percent']:+.0f} %",
            (case["measured"], case["simulated"]),
            xytext=(-6, -2) if on_the_right else (6, -2),
            textcoords="offset points",
            horizontalalignment="right" if on_the_right else "left",
            fontsize=6.5,
            color="0.25",
        )


def draw(cases: Sequence[dict[str, Any]], path: Path) -> None:
    """Writes the plot of all cases with a simulated number; the suffix of `path` sets the format.

    Times and rates have a panel each. ValueError when no case has a simulated number, or the file
    cannot be written. The same cases give the same file.
    """
    known = [case for case in cases if case["simulated"] is not None]
    if not known:
        raise ValueError("there is nothing to draw: no case has a simulated number.")
    panels = [
        (title, group)
        for title, group in (
            ("times in us", [case for case in known if case["unit"] == "us"]),
            ("others, each in its own unit", [case for case in known if case["unit"] != "us"]),
        )
        if group
    ]
    styles = _style(list({case["family"] for case in known}))
    with matplotlib.rc_context(
        {"svg.hashsalt": "neuron_sim", "svg.fonttype": "none", "font.size": 9}
    ):
        figure = Figure(figsize=(6.2 * len(panels), 7), layout="constrained")
        for axes, (title, group) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            _panel(axes, group, styles, title)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
        try:
            metadata = {"Date": None} if path.suffix == ".svg" else None
            figure.savefig(path, metadata=metadata, dpi=160)
        except OSError as error:
            raise ValueError(f"'{path}' cannot be written: {error.strerror}.") from None
