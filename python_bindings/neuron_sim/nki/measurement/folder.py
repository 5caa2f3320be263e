"""The folder of `neuron-sim run --profile`: files of every kernel that ran, and an index of them.

  index.html          a line per kernel, with links
  index.json          the same for programs
  01-NAME.html        its timeline as a page, and so on
  01-NAME.pftrace.gz  its timeline for https://ui.perfetto.dev
  01-NAME.neff        its program and trace, for `neuron-sim profile`

Kernels are numbered in the order of their first run. Processes that share a folder take turns.
"""

from __future__ import annotations

import fcntl
import gzip
import html
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from neuron_sim import _core, settings
from neuron_sim.files import parse_json, read_text, write_whole
from neuron_sim.nki.measurement.program_file import write_program
from neuron_sim.nki.measurement.recorded import digest_of, profile_of
from neuron_sim.nki.measurement.tables.run_profile import RunProfile
from neuron_sim.nki.measurement.tables.summary import summary_of
from neuron_sim.nki.measurement.views import page_of, show_views, wants_views

FORMAT = "neuron_sim profile folder"
VERSION = 1
INDEX = "index.json"
_FILES = {"timeline": "html", "perfetto": "pftrace.gz", "program": "neff"}
_known: set[tuple[str, str]] = set()
"""Folders and programs that this process has written, so that a second run costs nothing."""


def record(kernel: Any) -> None:
    """Leaves the files of a kernel that ran in the folder of `neuron-sim run --profile`, and shows
    what `--timeline` and `--advice` ask for; nothing without these options.

    A program that is in the folder already is not written again. OSError; ValueError for a folder
    whose index is not ours."""
    if wants_views():
        show_views(kernel)
    folder = _core.setting(settings.PROFILE)
    if not folder:
        return
    key = folder, digest_of(kernel.program)
    if key not in _known:
        add(kernel, folder)
    _known.add(key)


def add(kernel: Any, folder: str) -> None:
    """Leaves the files of a kernel in a folder, unless its program is there, and its operator and
    the number of its launches where it has them. Errors as record()."""
    digest, launches = digest_of(kernel.program), getattr(kernel, "launches", 0)
    with _locked(folder):
        entries = read_index(folder)
        if all(entry["program"] != digest for entry in entries):
            _add(kernel, folder, entries)
        if launches:
            entry = next(entry for entry in entries if entry["program"] == digest)
            entry["launches"] = entry.get("launches", 0) + launches
            entry.setdefault("operator", kernel.operator)
        _write_index(folder, entries)


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read_index(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The kernels of a folder, in the order of their first run; none without an index. ValueError
    for an index that is not ours."""
    path = Path(folder) / INDEX
    if not path.exists():
        return []
    value = parse_json(read_text(path, "profile index"), os.fspath(path))
    if not isinstance(value, dict) or (value.get("format"), value.get("version")) != (
        FORMAT,
        VERSION,
    ):
        raise ValueError(f"{path} is not the index of a profile folder of this neuron_sim.")
    return list(value["kernels"])


def _add(kernel: Any, folder: str, entries: list[dict[str, Any]]) -> None:
    profile = profile_of(kernel, getattr(kernel, "changes", None))
    number = len(entries) + 1
    stem = f"{number:02d}-{re.sub(r'[^A-Za-z0-9_.-]', '_', profile.kernel)}"
    paths = {kind: f"{stem}.{ending}" for kind, ending in _FILES.items()}
    write_whole(Path(folder) / paths["timeline"], page_of(profile))
    perfetto = kernel.program.perfetto(log=getattr(kernel, "log", []))
    packed = gzip.compress(perfetto, compresslevel=6, mtime=0)
    write_whole(Path(folder) / paths["perfetto"], packed)
    write_program(kernel, profile, Path(folder) / paths["program"])
    entries.append(entry_of(profile, number, paths))


def _write_index(folder: str, entries: list[dict[str, Any]]) -> None:
    document = {"format": FORMAT, "version": VERSION, "kernels": entries}
    write_whole(Path(folder) / INDEX, json.dumps(document, indent=1))
    write_whole(Path(folder) / "index.html", index_page(entries))


def entry_of(profile: RunProfile, number: int, files: Mapping[str, str]) -> dict[str, Any]:
    """What the index says about a kernel."""
    timing, summary = profile.header["timing"], summary_of(profile)
    return {
        "number": number,
        "name": profile.kernel,
        "architecture": profile.header["architecture"],
        "arguments": [
            {name: argument[name] for name in ("label", "shape", "dtype", "read", "written")}
            for argument in profile.header["arguments"]
        ],
        "body_us": timing["body_us"],
        "latency_us": timing["latency_us"],
        "total_us": timing["profile_us"],
        "bottleneck": timing["bottleneck"],
        "bound": profile.header["advice"]["bound"],
        "dma_transfers": timing["dma_transfers"],
        "dma_bytes": timing["dma_bytes"],
        "mfu": summary["mfu_estimated_percent"],
        "program": profile.header["program"],
        "files": dict(files),
    }


def index_page(entries: Sequence[Mapping[str, Any]]) -> str:
    """The index as a page for a browser."""
    page = resources.files(__package__).joinpath("folder.html").read_text(encoding="utf-8")
    return page.replace("@ROWS@", "\n".join(map(_row, entries)), 1)


def _row(entry: Mapping[str, Any]) -> str:
    arguments = "".join(
        f"<li>{html.escape(each['label'])} <span>{each['shape']} {each['dtype']}</span></li>"
        for each in entry["arguments"]
    )
    operator = f" <span>{html.escape(entry['operator'])}</span>" if entry.get("operator") else ""
    links = " ".join(_link(entry, kind, kind) for kind in entry["files"])
    cells = (
        f'<td class="number">{entry["number"]}</td>',
        f"<td>{_link(entry, 'timeline', entry['name'])}{operator}</td>",
        f"<td>{entry['architecture']}</td>",
        f"<td><ul>{arguments}</ul></td>",
        f'<td class="number">{entry["body_us"]:,.2f}</td>',
        f'<td class="number">{entry["latency_us"]:,.2f}</td>',
        f'<td class="number">{entry["total_us"]:,.2f}</td>',
        f'<td class="number">{entry.get("launches", "")}</td>',
        f'<td class="number">{entry["dma_bytes"]:,}</td>',
        f'<td class="number">{entry["mfu"]:.1%}</td>',
        f"<td>{html.escape(entry['bound'])}</td>",
        f"<td>{links}</td>",
    )
    return f"<tr>{''.join(cells)}</tr>"


def _link(entry: Mapping[str, Any], kind: str, text: str) -> str:
    return f'<a href="{html.escape(entry["files"][kind])}">{html.escape(text)}</a>'
