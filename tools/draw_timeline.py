"""Draws the timeline of a kernel as SVG.

python tools/draw_timeline.py docs/vector_add_timeline.svg
"""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
import torch
from matplotlib.figure import Figure
from neuron_sim import _core
from neuron_sim.nki.measurement.tables.run_profile import EventKind
from neuron_sim.timeline.recorded_run import RecordedRun, record_run

COLOURS = {EventKind.TRIGGER: "#94a3b8", EventKind.TRANSFER: "#38bdf8", EventKind.STEP: "#f59e0b"}


def recorded_addition(elements: int, **options: object) -> RecordedRun:
    """A run of vector_add on two fp32 vectors."""
    x = torch.zeros(elements, device="neuron_sim")
    with torch.neuron_sim.record_launches() as launches:
        torch.ops.neuron_sim.vector_add(x, x, **options)
    return record_run(_core.program_of_kernel(launches[0]._record.kernel()))


def timeline(run: RecordedRun, title: str) -> Figure:
    """A row per engine and DMA queue, a bar per instruction or transfer."""
    columns, tracks, body = run.columns, run.header["names"]["tracks"], run.header["body"] / 1e6
    start, end = columns["event_start"] / 1e6, columns["event_end"] / 1e6
    rows = [
        track
        for track in np.unique(columns["event_track"])
        if tracks[track]["kind"] in ("engine", "queue")
    ]
    figure = Figure(figsize=(9.8, 0.9 + 0.26 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for row, track in enumerate(rows):
        shown = columns["event_track"] == track
        axes.broken_barh(
            list(zip(start[shown], end[shown] - start[shown], strict=True)),
            (row - 0.35, 0.7),
            facecolors=[COLOURS[EventKind(kind)] for kind in columns["event_kind"][shown]],
            edgecolor="white",
            linewidth=0.3,
        )
    axes.set_yticks(range(len(rows)), [tracks[track]["name"] for track in rows])
    axes.set(xlim=(0, body), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xlabel(
        f"us of the kernel's body, {body:.2f}; grey: DMA triggers, blue: transfers, "
        "orange: additions"
    )
    axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
    axes.grid(axis="y", color="#e2e8f0")
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    return figure


if __name__ == "__main__":
    # Without a date and random identifiers, the same trace is the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "neuron_sim", "svg.fonttype": "none"})
    timeline(
        recorded_addition(256_000, variant="stream", free_dim=500),
        "vector_add of 256,000 fp32 elements on trn2, tiles of 128 x 500",
    ).savefig(sys.argv[1], metadata={"Date": None})
