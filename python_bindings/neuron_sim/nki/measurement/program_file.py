"""Files of a kernel: the program (the vendor's NEFF) and its trace (the vendor's NTFF).

Both are zip archives of our own; the vendor's tools do not read them, nor this simulator theirs.

  manifest.json  format, version, kernel, architecture
  listing.txt    program file only: instructions and loops, one per line
  timing.json    `Program.time()`: body_us, latency_us, profile_us, ...
  summary.json   the profiler's metrics (summary.py)
  trace.json     the timeline in the Trace Event Format, for Perfetto and chrome://tracing

A run always takes the same time, so the program file has all of it and `neuron-profile capture`
only extracts the trace.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from typing import Any

from neuron_sim import _core, run
from neuron_sim.files import parse_json, read_archive, write_whole
from neuron_sim.nki.measurement.summary import profile_summary
from neuron_sim.nki.measurement.views import show_views, wants_views

VERSION = 1
PROGRAM = "neuron_sim program"
TRACE = "neuron_sim trace"
_TRACE_MEMBERS = ("timing.json", "summary.json", "trace.json")
# Zip stores a time of each member; one constant makes equal programs equal files.
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


def save_program(kernel: Any, path: str | os.PathLike[str]) -> None:
    """Writes the program file of a traced kernel; the folder must exist (OSError)."""
    members = {**_trace_members(kernel), "listing.txt": kernel.program.listing()}
    _write(path, PROGRAM, kernel.program, members)


def save_trace(kernel: Any, path: str | os.PathLike[str]) -> None:
    """Writes the trace file of a traced kernel; the folder must exist (OSError)."""
    _write(path, TRACE, kernel.program, _trace_members(kernel))


def record(kernel: Any) -> None:
    """Leaves program, trace and timeline (for Perfetto and as JSON) in the folder of
    `neuron-sim run --profile`, and shows what `--timeline` and `--advice` ask for.

    Nothing without these options. The name has a digest of the program, so that the runs of one
    program share their files and kernels of one name do not."""
    if wants_views():
        show_views(kernel)
    folder = _core.setting(run.PROFILE)
    if not folder:
        return
    program = kernel.program
    digest = hashlib.sha256(program.listing().encode()).hexdigest()[:8]
    name = re.sub(r"[^\w.-]", "_", program.kernel)
    stem = os.path.join(folder, f"{name}-{program.architecture}-{digest}")
    if os.path.exists(f"{stem}.trace.json"):
        return
    members = _trace_members(kernel)
    _write(f"{stem}.neff", PROGRAM, program, {**members, "listing.txt": program.listing()})
    _write(f"{stem}.ntff", TRACE, program, members)
    perfetto = program.perfetto(log=getattr(kernel, "log", []))
    write_whole(f"{stem}.pftrace.gz", gzip.compress(perfetto, compresslevel=1, mtime=0))
    write_whole(f"{stem}.trace.json", members["trace.json"])


def capture(program_path: str | os.PathLike[str], trace_path: str | os.PathLike[str]) -> None:
    """Writes the trace file of a stored program: what `neuron-profile capture` does."""
    members = read(program_path, PROGRAM)
    manifest = {**json.loads(members["manifest.json"]), "format": TRACE}
    kept = {name: members[name] for name in _TRACE_MEMBERS}
    _write_members(trace_path, {"manifest.json": _json(manifest), **kept})


def read(path: str | os.PathLike[str], file_format: str) -> dict[str, str]:
    """Members of a file, of which the JSON ones are objects. FileNotFoundError; ValueError when it
    is not of that format."""
    name = os.fspath(path)
    what = f"a {file_format.rpartition(' ')[2]} file of neuron_sim"
    members = read_archive(path, what)
    manifest = _object(members, "manifest.json", name, what)
    found, version = manifest.get("format"), manifest.get("version")
    if found not in (PROGRAM, TRACE):
        raise ValueError(f"{name} is not {what}.")
    if found != file_format:
        raise ValueError(f"{name} is a '{found}' file, not a '{file_format}' file.")
    if version != VERSION:
        raise ValueError(
            f"{name} has version {version!r} of the format; this neuron_sim reads version "
            f"{VERSION}."
        )
    if not isinstance(manifest.get("kernel"), str):
        raise ValueError(f"{name} is not {what}: its manifest.json names no kernel.")
    for member in _TRACE_MEMBERS:
        if not _object(members, member, name, what):
            raise ValueError(f"{name} is not {what}: its {member} is empty.")
    return members


def _object(members: Mapping[str, str], member: str, name: str, what: str) -> dict[str, Any]:
    if member not in members:
        raise ValueError(f"{name} is not {what}: it has no {member}.")
    value = parse_json(members[member], f"{member} of {name}")
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not {what}: its {member} is not an object.")
    return value


def _trace_members(kernel: Any) -> dict[str, str]:
    return {
        "timing.json": _json(kernel.time()),
        "summary.json": _json(profile_summary(kernel)),
        "trace.json": kernel.program.trace(log=getattr(kernel, "log", [])),
    }


def _write(
    path: str | os.PathLike[str], file_format: str, program: Any, members: Mapping[str, str]
) -> None:
    manifest = {
        "format": file_format,
        "version": VERSION,
        "kernel": program.kernel,
        "architecture": program.architecture,
    }
    _write_members(path, {"manifest.json": _json(manifest), **members})


def _write_members(path: str | os.PathLike[str], members: Mapping[str, str]) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name, _TIMESTAMP), text, zipfile.ZIP_DEFLATED)
    write_whole(path, content.getvalue())


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True)
