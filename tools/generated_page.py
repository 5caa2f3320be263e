"""Writing or checking a generated page of docs/, whose words are in tools/templates."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
DOCS = TOOLS.parent / "docs"


def fill(page: str, figures: Mapping[str, object]) -> str:
    """The template of a page with its {{names}} replaced. ValueError unless both have the same
    names."""
    template = (TOOLS / "templates" / page).read_text(encoding="utf-8")
    names = set(re.findall(r"\{\{(\w+)\}\}", template))
    if names != figures.keys():
        raise ValueError(f"{page} and its figures differ in {sorted(names ^ figures.keys())}")
    return re.sub(r"\{\{(\w+)\}\}", lambda place: str(figures[place[1]]), template)


def store_rows(report: Path, stored: Path, chosen: Callable[[str], bool]) -> None:
    """Stores rows of what `neuron-sim model --published --output` wrote: those with a chosen
    figure."""
    rows = [row for row in json.loads(report.read_text("utf-8")) if chosen(row["figure"])]
    for row in rows:
        del row["error"]
    lines = ",\n".join(map(json.dumps, rows))
    stored.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def write_or_check(page: Path, text: str) -> int:
    """Writes the page; with --check on the command line ends with 1 if it is stale instead."""
    if "--check" not in sys.argv[1:]:
        page.write_text(text, encoding="utf-8")
        return 0
    if page.is_file() and page.read_text(encoding="utf-8") == text:
        return 0
    print(f"{page.name} is stale; run tools/{Path(sys.argv[0]).name}", file=sys.stderr)
    return 1
