"""Writing or checking a generated page of docs/, whose words are in tools/templates."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
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


def write_or_check(page: Path, text: str) -> int:
    """Writes the page; with --check on the command line ends with 1 if it is stale instead."""
    if "--check" not in sys.argv[1:]:
        page.write_text(text, encoding="utf-8")
        return 0
    if page.is_file() and page.read_text(encoding="utf-8") == text:
        return 0
    print(f"{page.name} is stale; run tools/{Path(sys.argv[0]).name}", file=sys.stderr)
    return 1
