"""Draws the timeline of a kernel as SVG, from the trace that neuron_sim._core writes.

python tools/draw_timeline.py docs/vector_add_timeline.svg
"""

from __future__ import annotations

import json
import sys

import matplotlib
import neuron_sim._core as core
from matplotlib.figure import Figure

COLOURS = {"dma_copy trigger": "#94a3b8", "dma_copy": "#38bdf8", "tensor_tensor": "#f59e0b"}
OTHER = "#10b981"


def timeline(kernel: str, shapes: list[list[int]], options: dict[str, str], title: str) -> Figure:
    """One run: a row per engine and DMA queue, a bar per instruction or transfer."""
    trace = json.loads(core.trace_kernel(kernel, shapes, "float32", "trn2", options))
    events = trace["traceEvents"]
    body = next(each for each in events if each["ph"] == "X" and each["name"] == "body")
    names = {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}
    spans = [
        each
        for each in events
        if "visible_us" in each["args"] and not names[each["tid"]].endswith(" waits")
    ]
    rows = {track: row for row, track in enumerate(sorted({each["tid"] for each in spans}))}
    figure = Figure(figsize=(9.8, 0.9 + 0.26 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for track, row in rows.items():
        shown = [each for each in spans if each["tid"] == track]
        axes.broken_barh(
            [(each["ts"] - body["ts"], each["dur"]) for each in shown],
            (row - 0.35, 0.7),
            facecolors=[COLOURS.get(each["name"], OTHER) for each in shown],
            edgecolor="white",
            linewidth=0.3,
        )
    axes.set_yticks(list(rows.values()), [names[track] for track in rows])
    axes.set(xlim=(0, body["dur"]), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xlabel(
        f"us of the kernel's body, {body['dur']:.2f}; grey: DMA triggers, blue: transfers, "
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
        "vector_add",
        [[256000], [256000]],
        {"variant": "stream", "free_dim": "500"},
        "vector_add of 256,000 fp32 elements on trn2, tiles of 128 x 500",
    ).savefig(sys.argv[1], metadata={"Date": None})
