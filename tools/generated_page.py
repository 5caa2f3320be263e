"""Writing or checking a generated page of docs/."""

from __future__ import annotations

import sys
from pathlib import Path


def write_or_check(page: Path, text: str) -> int:
    """Writes the page; with --check on the command line ends with 1 if it is stale instead."""
    if "--check" not in sys.argv[1:]:
        page.write_text(text, encoding="utf-8")
        return 0
    if page.is_file() and page.read_text(encoding="utf-8") == text:
        return 0
    print(f"{page.name} is stale; run tools/{Path(sys.argv[0]).name}", file=sys.stderr)
    return 1
