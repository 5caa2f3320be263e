"""Notebooks as scripts."""

from __future__ import annotations

import json
from pathlib import Path

IPYTHON = ("%", "!")
"""How lines begin that only IPython understands: they install packages and set variables."""


def script_of(path: Path) -> Path:
    """The file that runs for a script: itself, or the code cells of a notebook, which are written
    beside it without IPython's own lines."""
    if path.suffix != ".ipynb":
        return path
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    lines = [line for cell in code for line in cell.splitlines()]
    kept = [line for line in lines if not line.lstrip().startswith(IPYTHON)]
    script = path.with_suffix(".py")
    script.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return script
