"""What `neuron-sim run --timeline` and `--advice` show of every kernel that runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from neuron_sim import _core, settings
from neuron_sim.nki.measurement.tables.run_profile import RunProfile
from neuron_sim.timeline import advice_text, advise, write_timeline
from neuron_sim.timeline.page import recorded_page
from neuron_sim.timeline.recorded_run import SHOWN, RecordedRun

_shown: dict[str, str] = {}
"""Titles of the programs that this process has shown, by listing: each program is shown once."""


def wants_views() -> bool:
    """Whether one of the options is given."""
    return bool(_core.setting(settings.TIMELINE)) or _core.setting(settings.ADVICE) == "1"


def show_views(kernel: Any) -> None:
    """Writes the page and prints the advice (to stderr) of a traced kernel that has run.

    The page of the first program of the process is the file of `--timeline`, those of others get a
    number: out.html, out-2.html. OSError when a page cannot be written."""
    program = kernel.program
    listing = program.listing()
    if listing in _shown:
        return
    number = len(_shown) + 1
    title = _shown[listing] = f"{program.kernel} on {program.architecture}"
    log, changes = getattr(kernel, "log", []), getattr(kernel, "changes", None)
    if page := _core.setting(settings.TIMELINE):
        write_timeline(program, numbered(Path(page), number), log, title, changes)
    if _core.setting(settings.ADVICE) == "1":
        print(advice_text(advise(program, log, changes=changes)), file=sys.stderr)


def numbered(path: Path, number: int) -> Path:
    """The path of page `number`, counted from 1."""
    return path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")


def page_of(profile: RunProfile) -> str:
    """The timeline page of a profile."""
    header = profile.header
    shown = {name: header[name] for name in (*SHOWN, "advice", "lines", "totals")}
    shown["title"] = f"{profile.kernel} on {header['architecture']}"
    shown["utilisation"] = header["timing"]["utilisation"]
    return recorded_page(RecordedRun(shown, dict(profile.columns)))
