"""Tables of commands and notebooks: one list of rows, shown as text, CSV, Markdown or HTML."""

from __future__ import annotations

import csv
import html
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

_UNLIMITED = 10_000
"""Columns of a file or pipe, whose lines are never broken."""


def columns_of(rows: Iterable[Row]) -> list[str]:
    """The names of all cells, in the order of their first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def cell(value: Any) -> str:
    """A value as a table shows it: nothing for None, four significant digits of a float."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return str(value)


def is_numeric(rows: Sequence[Row], column: str) -> bool:
    """Whether all cells of a column that are there are numbers."""
    values = [row[column] for row in rows if row.get(column) is not None]
    return bool(values) and all(isinstance(each, int | float) for each in values)


def print_table(rows: Sequence[Row], columns: Sequence[str] | None = None, title: str = "") -> None:
    """Prints rows to stdout; a terminal folds cells that are too wide for it."""
    if sys.stdout.isatty():
        sys.stdout.write(_rendered(rows, columns, title, None))
    else:
        sys.stdout.write(as_text(rows, columns, title))


def as_text(rows: Sequence[Row], columns: Sequence[str] | None = None, title: str = "") -> str:
    """Rows as lines of aligned columns, each as wide as its widest cell."""
    # Cells are padded to their column; a line ends with its last word.
    return _stripped(_rendered(rows, columns, title, _UNLIMITED))


def _rendered(
    rows: Sequence[Row], columns: Sequence[str] | None, title: str, width: int | None
) -> str:
    """As rich lays it out in so many columns; None: those of the terminal, with its styles."""
    from rich.console import Console  # slow to import
    from rich.table import Table  # as above
    from rich.text import Text  # as above

    table = Table(box=None, pad_edge=False, header_style="bold")
    names = columns_of(rows) if columns is None else list(columns)
    for name in names:
        right = is_numeric(rows, name)
        table.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell(row.get(name))) for name in names))
    file = None if width is None else io.StringIO()
    console = Console(file=file, width=width, highlight=False)
    with console.capture() as captured:
        if title:
            console.print(Text(title))
        console.print(table)
    return captured.get()


def _stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def as_csv(rows: Sequence[Row], columns: Sequence[str] | None = None) -> str:
    """Rows as CSV with a heading, numbers in full."""
    out = io.StringIO()
    names = columns_of(rows) if columns is None else list(columns)
    writer = csv.DictWriter(out, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_markdown(rows: Sequence[Row], columns: Sequence[str] | None = None) -> str:
    """Rows as a Markdown table."""
    names = columns_of(rows) if columns is None else list(columns)
    rules = ["---:" if is_numeric(rows, name) else "---" for name in names]
    lines = [names, rules]
    lines += [[cell(row.get(name)).replace("|", "\\|") for name in names] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_html(rows: Sequence[Row], columns: Sequence[str] | None = None, title: str = "") -> str:
    """Rows as an HTML table, whose texts are escaped."""
    names = columns_of(rows) if columns is None else list(columns)
    sides = {name: "right" if is_numeric(rows, name) else "left" for name in names}

    def line(tag: str, texts: Iterable[tuple[str, str]]) -> str:
        cells = (
            f'<{tag} style="text-align:{sides[name]};white-space:pre">{html.escape(text)}</{tag}>'
            for name, text in texts
        )
        return f"<tr>{''.join(cells)}</tr>"

    caption = f"<caption>{html.escape(title)}</caption>" if title else ""
    head = line("th", ((name, name) for name in names))
    body = "".join(line("td", ((name, cell(row.get(name))) for name in names)) for row in rows)
    return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"
