"""The timeline page: one HTML file with everything in it, for any browser, without a network.

`page/` holds its parts, which are joined as they are. The recordings of one or two runs follow,
packed (packing.py) and each one gzip stream in base64, then the comparison of two as JSON.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import html
import json
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

from neuron_sim.files import LARGEST_UNPACKED, read_text, write_whole
from neuron_sim.timeline.changes import Change
from neuron_sim.timeline.comparison import Difference, compare_runs
from neuron_sim.timeline.packing import pack, unpack
from neuron_sim.timeline.recorded_run import RecordedRun, record_run

SCRIPTS = (
    "data.js", "colours.js", "lanes.js", "rows.js", "timeline.js", "overviews.js", "panels.js",
    "differences.js", "search.js", "tables.js", "tallies.js", "sums.js", "view.js", "pointer.js",
    "main.js",
)  # fmt: skip
"""The parts of the script, in the order in which they need each other."""

_OPEN = """<p><a href="#" onclick="window.open(window.URL.createObjectURL(
new Blob([this.parentElement.previousElementSibling.srcdoc], {type: 'text/html'}))); return false">
Open it in a tab</a></p>"""
"""After an inline page. A handler sees names of its document first, such as URL and open."""

_RECORDING = '<script class="recording" type="application/octet-stream">'


def timeline_page(program: Any, log: Sequence[int] = (), title: str | None = None) -> str:
    """The page of one run of a `_core.Program`. `log`: what `Program.run` returned, for programs
    whose control depends on data; `title`: its heading, else the kernel's name."""
    return recorded_page(record_run(program, log, title))


def recorded_page(run: RecordedRun) -> str:
    """The page of a recorded run."""
    return _page(run.title, [run], [])


def write_timeline(
    program: Any,
    path: str | os.PathLike[str],
    log: Sequence[int] = (),
    title: str | None = None,
    changes: Sequence[Change] | None = None,
) -> None:
    """Writes the page to a file; OSError when that is not possible. `changes` as of advise()."""
    write_whole(path, recorded_page(record_run(program, log, title, changes)))


def comparison_page(first: RecordedRun, second: RecordedRun) -> str:
    """The page of two runs on one time axis, A and B, with their differences."""
    title = f"{first.title} and {second.title}"
    return _page(title, [first, second], compare_runs(first, second))


def write_comparison(first: RecordedRun, second: RecordedRun, path: str | os.PathLike[str]) -> None:
    """Writes comparison_page() to a file; OSError when that is not possible."""
    write_whole(path, comparison_page(first, second))


def read_timeline(path: str | os.PathLike[str]) -> RecordedRun:
    """The run that write_timeline() wrote to a file. ValueError for another file."""
    text = read_text(path, "timeline page")
    name = os.fspath(path)
    streams = re.findall(re.escape(_RECORDING) + "([A-Za-z0-9+/=]*)</script>", text)
    if not streams:
        raise ValueError(f"{name} is no timeline page: it has no recording.")
    if len(streams) > 1:
        raise ValueError(f"{name} holds a comparison; a page of one run is needed.")
    try:
        return unpack(_unzipped(base64.b64decode(streams[0], validate=True)))
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"{name} is a damaged timeline page: {error}.") from None
    except ValueError as error:
        raise ValueError(f"{name} cannot be compared: {error}") from None


@dataclass(frozen=True)
class InlineTimeline:
    """A page of write_timeline() or write_comparison() in a file, which a notebook shows whole
    when this is the last line of a cell. ValueError, then, for a file that cannot be read."""

    path: str | os.PathLike[str]
    height: int = 640
    """Pixels."""

    def _repr_html_(self) -> str:
        page = html.escape(read_text(self.path, "timeline page"))
        name = html.escape(os.path.basename(self.path))
        return (
            f'<iframe title="{name}" srcdoc="{page}" style="width: 100%; height: {self.height}px; '
            f'border: 1px solid #8888"></iframe>{_OPEN}'
        )


def _unzipped(content: bytes) -> bytes:
    stream = zlib.decompressobj(wbits=31)
    unpacked = stream.decompress(content, LARGEST_UNPACKED)
    if stream.unconsumed_tail:
        raise ValueError(f"it unpacks to more than {LARGEST_UNPACKED} bytes.")
    if not stream.eof:
        raise zlib.error("it ends in the middle")
    return unpacked


def _page(title: str, runs: Sequence[RecordedRun], differences: Sequence[Difference]) -> str:
    """`page.html` with its marks replaced, each once: a recording may contain anything."""
    packed = [gzip.compress(pack(run), compresslevel=1, mtime=0) for run in runs]
    recordings = [f"{_RECORDING}{base64.b64encode(each).decode()}</script>" for each in packed]
    rows = json.dumps([asdict(each) for each in differences]).replace("<", "\\u003c")
    parts = {
        "TITLE": html.escape(title),
        "STYLE": _part("page.css"),
        "RECORDINGS": "\n".join(recordings),
        "DIFFERENCES": rows,
        "SCRIPT": "\n".join(map(_part, SCRIPTS)),
    }
    return re.sub("@([A-Z]+)@", lambda mark: parts[mark[1]], _part("page.html"))


def _part(name: str) -> str:
    return (resources.files(__package__) / "page" / name).read_text(encoding="utf-8")
