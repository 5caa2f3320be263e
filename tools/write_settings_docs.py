#!/usr/bin/env python3
"""Writes docs/settings.md: the environment variables, from the table in device/base/settings.cpp.

Usage: write_settings_docs.py [--check]; --check writes nothing and ends with 1 if the page is
stale.
"""

from __future__ import annotations

from pathlib import Path

import neuron_sim._core as core
from generated_page import fill, write_or_check

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"


def page() -> str:
    """The page for the table as it is."""
    rows = [f"| `{name}` | {values} | {meaning} |" for name, values, meaning in core.settings()]
    return fill(PAGE.name, {"settings": "\n".join(rows)})


if __name__ == "__main__":
    raise SystemExit(write_or_check(PAGE, page()))
