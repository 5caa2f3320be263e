"""The commands of a page, docs/handout_profiling.md first, and what they print.

A Python block that begins with `# NAME.py` is that file; `sh` blocks run in order, in a folder with
these files and a link to models/; the `text` block after one is what it prints.
Run as a program it writes the page anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "handout_profiling.md"

BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(text: str) -> str:
    """The page with the output of its commands. RuntimeError for a command that fails."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "models").symlink_to(ROOT / "models")
        printed = ""

        def replaced(block: re.Match[str]) -> str:
            nonlocal printed
            kind, content = block[1], block[2]
            if kind == "text":
                content, printed = printed, ""
            elif kind == "sh":
                if printed:
                    raise RuntimeError(f"no 'text' block before:\n{content}\nfor:\n{printed}")
                printed = output(content, folder)
            elif name := re.match(r"# (\w+\.py)\n", content):
                (Path(folder) / name[1]).write_text(content, encoding="utf-8")
            return f"```{kind}\n{content}```"

        result = BLOCK.sub(replaced, text)
        if printed:
            raise RuntimeError(f"no 'text' block at the end, for:\n{printed}")
        return result


def output(commands: str, folder: str) -> str:
    """What commands print to stdout; the folder is not in it."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": "models/nki"}
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", commands],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{commands}ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout.replace(folder, "/tmp/handout")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
