"""The page of a sweep: its points over two figures and over all, in one file for any browser."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from neuron_sim.files import write_whole
from neuron_sim.sweep.point import write_point_timeline
from neuron_sim.sweep.study import Study

MOST_TIMELINES = 64
"""Points whose timelines are written, the fastest ones: each is a file of some hundred KB."""


def write_sweep_page(
    study: Study, rows: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]
) -> None:
    """Writes the page to a file, and of a kernel the timelines of the fastest points to a folder
    beside it, from where a click on a point opens them. OSError."""
    folder = f"{os.path.splitext(os.fspath(path))[0]}_timelines"
    timelines: dict[int, str] = {}
    timed = [number for number, row in enumerate(rows) if "error" not in row]
    if not study.is_model and timed:
        os.makedirs(folder, exist_ok=True)
        timed.sort(key=lambda number: rows[number]["latency_us"])
        for number in timed[:MOST_TIMELINES]:
            file = f"{number}.html"
            point = {name: rows[number][name] for name in study.parameters}
            write_point_timeline(study, point, os.path.join(folder, file))
            timelines[number] = f"{os.path.basename(folder)}/{file}"
    write_whole(path, sweep_page(study, rows, timelines))


def sweep_page(
    study: Study, rows: Sequence[Mapping[str, Any]], timelines: Mapping[int, str]
) -> str:
    """`page.html` with its marks replaced. timelines: addresses of pages by the row's number."""
    data = {
        "parameters": {name: list(values) for name, values in study.parameters.items()},
        "rows": list(rows),
        "timelines": timelines,
    }
    parts = {
        "TITLE": html.escape(os.path.basename(study.target)),
        "DATA": json.dumps(data).replace("<", "\\u003c"),
    }
    text = (resources.files(__package__) / "page.html").read_text(encoding="utf-8")
    return re.sub("@([A-Z]+)@", lambda mark: parts[mark[1]], text)
