"""Draws the timeline of a kernel as SVG, from the trace that neuron_sim._core writes.

python tools/draw_timeline.py docs/vector_add_timeline.svg
"""

from __future__ import annotations

import html
import json
import sys
from pathlib import Path

import neuron_sim._core as core

WIDTH, LEFT, ROW, TOP = 980, 190, 26, 58
COLOURS = {"dma_copy trigger": "#94a3b8", "dma_copy": "#38bdf8", "tensor_tensor": "#f59e0b"}
OTHER = "#10b981"


def timeline(kernel: str, shapes: list[list[int]], options: dict[str, str], title: str) -> str:
    """The SVG of one run: a row per engine and DMA queue, a box per step."""
    trace = json.loads(core.trace_kernel(kernel, shapes, "float32", "trn2", options))
    events = trace["traceEvents"]
    steps = [e for e in events if e["ph"] == "X" and "visible_us" in e["args"]]
    body = next(e for e in events if e["ph"] == "X" and e["name"] == "body")
    shown = {step["tid"] for step in steps}
    titles = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    names = {tid: title for tid, title in titles.items() if tid in shown}
    end = body["dur"]
    rows = {tid: index for index, tid in enumerate(sorted(names))}
    height = TOP + ROW * len(rows) + 34
    scale = (WIDTH - LEFT - 20) / end
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="24" font-size="14" font-weight="bold">{html.escape(title)}</text>',
        f'<text x="16" y="42" fill="#475569">kernel body {end:.2f} us; grey: DMA triggers, '
        "blue: transfers, orange: additions</text>",
    ]
    for tid, row in rows.items():
        y = TOP + ROW * row
        out.append(f'<text x="16" y="{y + 16}" fill="#334155">{html.escape(names[tid])}</text>')
        out.append(f'<path d="M{LEFT},{y + 24} H{WIDTH - 20}" stroke="#e2e8f0"/>')
    for step in steps:
        x = LEFT + (step["ts"] - body["ts"]) * scale
        y = TOP + ROW * rows[step["tid"]] + 4
        width = max(step["dur"] * scale, 0.8)
        colour = COLOURS.get(step["name"], OTHER)
        out.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="17" fill="{colour}" '
            f'stroke="#ffffff" stroke-width="0.5"/>'
        )
    for tick in range(int(end) + 1):
        x = LEFT + tick * scale
        out.append(f'<text x="{x:.1f}" y="{height - 10}" fill="#64748b">{tick} us</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(
        timeline(
            "vector_add",
            [[256000], [256000]],
            {"variant": "stream", "free_dim": "500"},
            "vector_add of 256,000 fp32 elements on trn2, tiles of 128 x 500",
        ),
        encoding="utf-8",
    )
