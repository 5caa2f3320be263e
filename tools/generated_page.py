"""Writing or checking a generated page of docs/, whose words are in tools/templates."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from neuron_sim.fidelity.published_models.inference import Comparison

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


def stored_rows(stored: Path) -> list[Comparison]:
    """The rows of a page of published times, from the JSON file beside it."""
    return [Comparison(**row) for row in json.loads(stored.read_text(encoding="utf-8"))]


def write_published(
    tool: str, page: Path, text: Callable[[], str], chosen: Callable[[str], bool]
) -> int:
    """The command of a tool that writes a page of published times, described by `tool`: --report
    first stores rows of what `neuron-sim model --published --output` wrote, those with a chosen
    figure."""
    parser = argparse.ArgumentParser(description=tool)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--report", type=Path, metavar="FILE")
    report = parser.parse_args().report
    if report is not None:
        rows = [row for row in json.loads(report.read_text("utf-8")) if chosen(row["figure"])]
        for row in rows:
            del row["error"]
        lines = ",\n".join(map(json.dumps, rows))
        page.with_suffix(".json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    return write_or_check(page, text())


def write_or_check(page: Path, text: str) -> int:
    """Writes the page; with --check on the command line ends with 1 if it is stale instead."""
    if "--check" not in sys.argv[1:]:
        page.write_text(text, encoding="utf-8")
        return 0
    if page.is_file() and page.read_text(encoding="utf-8") == text:
        return 0
    print(f"{page.name} is stale; run tools/{Path(sys.argv[0]).name}", file=sys.stderr)
    return 1
