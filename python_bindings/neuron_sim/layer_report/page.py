"""The page of a report: one HTML file for any browser, without a network."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from neuron_sim.terminal.tables import cell

_SHARE = "share %"
"""The column that is also a bar."""


def layer_page(
    title: str,
    notes: Sequence[str],
    rows: Sequence[tuple[int, Mapping[str, Any]]],
    depth: int | None,
) -> str:
    """`page.html` with its marks replaced. rows: the level of each layer, 0 first, and its cells
    by column, of which the first is its name. depth: levels below the first that are open."""
    levels = [level for level, _ in rows]
    lines = [
        _line(level, row, is_parent=level < following, is_open=depth is None or level < depth,
              is_shown=depth is None or level <= depth)
        for (level, row), following in zip(rows, [*levels[1:], 0], strict=True)
    ]  # fmt: skip
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0][1])
    parts = {
        "TITLE": html.escape(title),
        "NOTES": "".join(f"<p>{html.escape(note)}</p>" for note in notes),
        "HEAD": f"<tr>{heads}</tr>",
        "ROWS": "\n".join(lines),
    }
    text = (resources.files(__package__) / "page.html").read_text(encoding="utf-8")
    return re.sub("@([A-Z]+)@", lambda mark: parts[mark[1]], text)


def _line(
    level: int, row: Mapping[str, Any], is_parent: bool, is_open: bool, is_shown: bool
) -> str:
    (_, name), *figures = row.items()
    label = f"<span>{html.escape(name)}</span>"
    if is_parent:
        label = f'<button aria-expanded="{str(is_open).lower()}">{html.escape(name)}</button>'
    cells = [f'<td style="--level:{level}">{label}</td>']
    for column, value in figures:
        kind = ' class="number"' if not isinstance(value, str) else ""
        bar = ""
        if column == _SHARE:
            bar = f'<div class="bar" style="width:{value:.4f}%"></div>'
        cells.append(f"<td{kind}>{html.escape(cell(value))}{bar}</td>")
    hidden = "" if is_shown else " hidden"
    return f'<tr data-level="{level}"{hidden}>{"".join(cells)}</tr>'
