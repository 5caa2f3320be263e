"""The timeline page: one HTML file with everything in it, for any browser, without a network.

`page/` holds its parts, which are joined as they are; the recording follows as one gzip stream in
base64: the length of the header (8 bytes, little endian), the header (JSON), and the columns, each
at a multiple of 8 bytes.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from neuron_sim.files import write_whole
from neuron_sim.timeline.advice import advise

SCRIPTS = (
    "data.js", "lanes.js", "rows.js", "timeline.js", "overviews.js", "panels.js", "search.js",
    "main.js",
)  # fmt: skip
"""The parts of the script, in the order in which they need each other."""

_ITEM_SIZES = {"f8": 8, "u4": 4, "i4": 4, "u1": 1}
_SHOWN = (
    "kernel", "architecture", "cores", "body", "busy", "phases", "counters", "names", "path",
)  # fmt: skip
"""Members of a recording that the header takes as they are."""


def timeline_page(program: Any, log: Sequence[int] = (), title: str | None = None) -> str:
    """The page of one run of a `_core.Program`. `log`: what `Program.run` returned, for programs
    whose control depends on data; `title`: its heading, else the kernel's name."""
    recording = program.recording(log=list(log))
    advice = advise(program, log, recording).as_dict()
    utilisation = program.time(log=list(log))["utilisation"]
    return recorded_page(recording, advice, utilisation, title or program.kernel)


def recorded_page(
    recording: Mapping[str, Any], advice: Mapping[str, Any], utilisation: Mapping[str, float],
    title: str,
) -> str:  # fmt: skip
    """The page of a recording, with the advice and the shares of time that go with it."""
    header = {key: recording[key] for key in _SHOWN}
    header |= {"title": title, "advice": advice, "utilisation": utilisation}
    packed = gzip.compress(_packed(header, recording["columns"]), compresslevel=1, mtime=0)
    parts = {
        "@TITLE@": html.escape(title),
        "@STYLE@": _part("page.css"),
        "@SCRIPT@": "\n".join(map(_part, SCRIPTS)),
        "@DATA@": base64.b64encode(packed).decode("ascii"),
    }
    page = _part("page.html")
    for mark, content in parts.items():
        page = page.replace(mark, content, 1)
    return page


def write_timeline(
    program: Any, path: str | os.PathLike[str], log: Sequence[int] = (), title: str | None = None
) -> None:
    """Writes the page to a file; OSError when that is not possible."""
    write_whole(path, timeline_page(program, log, title))


def _part(name: str) -> str:
    return (resources.files(__package__) / "page" / name).read_text(encoding="utf-8")


def _packed(header: dict[str, Any], columns: dict[str, tuple[str, bytes]]) -> bytes:
    """Header and columns; offsets count from the start of the columns' own first byte on."""
    places: list[tuple[str, str, int, int]] = []
    offset = 0
    for name, (kind, content) in columns.items():
        places.append((name, kind, offset, len(content) // _ITEM_SIZES[kind]))
        offset += _padded(len(content))
    encoded = json.dumps(header | {"columns": places}, separators=(",", ":")).encode()
    pieces = [len(encoded).to_bytes(8, "little"), encoded.ljust(_padded(len(encoded)))]
    pieces += [content.ljust(_padded(len(content)), b"\0") for _, content in columns.values()]
    return b"".join(pieces)


def _padded(size: int) -> int:
    return -(-size // 8) * 8
