#!/usr/bin/env python3
"""Writes the tables of README.md from the generated pages of docs/, with the day of the change.

Usage: write_readme_tables.py [--check]; --check writes nothing and ends with 1 if rows are stale.
Run it after the tools that write docs/whole_models.md, docs/kernels.md and docs/performance.md.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from generated_page import write_or_check

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(
    r"(?P<begin><!-- (?P<page>[\w/]+\.md): written by tools/write_readme_tables\.py -->\n)"
    r"(?P<rows>(?:\|[^\n]*\n)*)(?P<date>\nAs of [^\n]*\n)?(?P<end><!-- end -->)"
)
Row = dict[str, str]


def table(page: str, column: str) -> list[Row]:
    """The rows of the first table of a page that has this column. ValueError if none has."""
    lines = page.splitlines()
    for number, line in enumerate(lines):
        header = cells(line)
        if column not in header:
            continue
        rows = []
        for row in lines[number + 2 :]:
            if not row.startswith("|"):
                break
            rows.append(dict(zip(header, cells(row), strict=True)))
        return rows
    raise ValueError(f"no table has the column '{column}'")


def cells(line: str) -> list[str]:
    """The cells of a row of a Markdown table; none for other lines."""
    if not line.startswith("|"):
        return []
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def first_of_each(rows: Iterable[Row], column: str) -> list[Row]:
    """The first row for each value of a column."""
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(row[column], row)
    return list(found.values())


def best_of_each(rows: Iterable[Row], column: str, percent: str) -> list[Row]:
    """The row with the highest percentage for each value of a column; of equal ones the first."""
    found: dict[str, Row] = {}
    for row in rows:
        best = found.setdefault(row[column], row)
        if float(row[percent].rstrip("%")) > float(best[percent].rstrip("%")):
            found[row[column]] = row
    return list(found.values())


def markdown(rows: Iterable[Row], columns: dict[str, str]) -> str:
    """A table with these columns, by their names in the rows; numbers are to the right."""
    rows = list(rows)
    out = ["| " + " | ".join(columns.values()) + " |\n"]
    number = re.compile(r"[+-]?[\d.,]+%?")
    right = [all(number.fullmatch(row[name]) for row in rows) for name in columns]
    out.append("|" + "|".join("---:" if each else "---" for each in right) + "|\n")
    out += ["| " + " | ".join(row[name] for name in columns) + " |\n" for row in rows]
    return "".join(out)


def whole_models(page: str) -> str:
    """The first published row of each model: batch 1 where there is one."""
    names = ("model", "batch", "instance", "published ms", "simulated ms", "error", "bound by")
    rows = first_of_each(table(page, "published ms"), "model")
    return markdown(rows, {name: name for name in names})


def kernels(page: str) -> str:
    """The variant and shape of each kernel that comes nearest to the peak on trn2."""
    columns = {"kernel": "kernel", "variant": "variant"}
    columns |= {f"{chip} us": f"{chip} us" for chip in ("trn1", "trn2", "trn3")}
    columns |= {"trn2 bottleneck": "bound by (trn2)", "trn2 peak": "share of peak (trn2)"}
    return markdown(best_of_each(table(page, "trn2 peak"), "kernel", "trn2 peak"), columns)


def shortfall(row: Row) -> float:
    """How many times its goal a figure of docs/performance.md is beyond it; at most 1 when met."""
    direction, limit = row["goal"].split()
    if row["now"] == "-":
        return float("inf")
    now, goal = float(row["now"].replace(",", "")), float(limit)
    if direction == ">=":
        now, goal = goal, now
    return now / goal if goal else float("inf") if now else 0.0


def speed(page: str) -> str:
    """The figure that is furthest from its goal, of each row with goals."""
    rows = [row for row in table(page, "goal") if row["goal"] != "-"]
    worst: dict[str, Row] = {}
    for row in rows:
        if shortfall(row) > shortfall(worst.setdefault(row["row"], row)):
            worst[row["row"]] = row
    names = ("row", "figure", "now", "unit", "goal", "met")
    return markdown(worst.values(), {name: name for name in names})


TABLES: dict[str, Callable[[str], str]] = {
    "docs/whole_models.md": whole_models,
    "docs/kernels.md": kernels,
    "docs/performance.md": speed,
}


def with_tables(readme: str, root: Path, today: datetime.date) -> str:
    """The README with the tables of its blocks. A table that stays as it is keeps its date.

    ValueError unless there is one block for each page of TABLES.
    """
    pages = [block["page"] for block in BLOCK.finditer(readme)]
    if sorted(pages) != sorted(TABLES):
        raise ValueError(f"README.md has blocks for {pages}; there must be one for each of TABLES")

    def written(block: re.Match[str]) -> str:
        rows = TABLES[block["page"]]((root / block["page"]).read_text(encoding="utf-8"))
        date = f"\nAs of {today:%Y-%m-%d}; all rows: [{block['page']}]({block['page']}).\n"
        if rows == block["rows"] and block["date"]:
            date = block["date"]
        return f"{block['begin']}{rows}{date}{block['end']}"

    return BLOCK.sub(written, readme)


def main() -> int:
    readme = README.read_text(encoding="utf-8")
    return write_or_check(README, with_tables(readme, ROOT, datetime.date.today()))


if __name__ == "__main__":
    raise SystemExit(main())
