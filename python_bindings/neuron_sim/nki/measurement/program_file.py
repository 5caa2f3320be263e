"""Files of a kernel: the program (the vendor's NEFF) and its trace (the vendor's NTFF).

Both are zip archives of our own; the vendor's tools do not read them, nor this simulator theirs.

  manifest.json   format, version, kernel, architecture, a digest of the program and of each member
  listing.txt     program file only: instructions and loops, one per line
  summary.json    the profiler's metrics (tables/summary.py)
  recording.json  what the columns mean, times, counts, facts (recorded.py)
  columns.npz     the columns of the recording: NumPy arrays
  trace.pftrace   the timeline in Perfetto's own format

A run always takes the same time, so the program file has all of it and `neuron-profile capture`
only extracts the trace.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from neuron_sim.files import parse_json, read_archive, write_whole
from neuron_sim.nki.measurement.recorded import profile_of
from neuron_sim.nki.measurement.tables.run_profile import (
    COLUMNS,
    HEADER,
    RunProfile,
    members_of,
    read_profile,
)
from neuron_sim.nki.measurement.tables.summary import summary_of

VERSION = 2
PROGRAM = "neuron_sim program"
TRACE = "neuron_sim trace"
PERFETTO = "trace.pftrace"
_TRACE_MEMBERS = ("summary.json", HEADER, COLUMNS, PERFETTO)
View = TypeVar("View")
# Zip stores a time of each member; one constant makes equal programs equal files.
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class ProfileFile:
    """A program or trace file that was read."""

    path: str
    manifest: dict[str, Any]
    members: dict[str, bytes]

    @property
    def kernel(self) -> str:
        return str(self.manifest["kernel"])

    @property
    def summary(self) -> dict[str, Any]:
        """The profiler's metrics."""
        return dict(parse_json(self.members["summary.json"], f"summary.json of {self.path}"))

    def view(self, make: Callable[[RunProfile], View]) -> View:
        """What `make` makes of the run. ValueError where its recording is not as it is written
        here, which only a forged file can be: `read` compares digests."""
        try:
            return make(read_profile(self.members))
        except (ImportError, MemoryError):
            raise
        except Exception as error:
            raise ValueError(f"{self.path} has a recording that cannot be read.") from error


def save_program(kernel: Any, path: str | os.PathLike[str]) -> None:
    """Writes the program file of a traced kernel; the folder must exist (OSError)."""
    write_program(kernel, profile_of(kernel), path)


def save_trace(kernel: Any, path: str | os.PathLike[str]) -> None:
    """Writes the trace file of a traced kernel; the folder must exist (OSError)."""
    write_trace(kernel, profile_of(kernel), path)


def write_program(kernel: Any, profile: RunProfile, path: str | os.PathLike[str]) -> None:
    """As save_program, of a profile that is there."""
    listing = {"listing.txt": kernel.program.listing().encode()}
    _write(path, PROGRAM, profile, {**_trace_members(kernel, profile), **listing})


def write_trace(kernel: Any, profile: RunProfile, path: str | os.PathLike[str]) -> None:
    """As save_trace, of a profile that is there."""
    _write(path, TRACE, profile, _trace_members(kernel, profile))


def _trace_members(kernel: Any, profile: RunProfile) -> dict[str, bytes]:
    return {
        "summary.json": _json(summary_of(profile)),
        PERFETTO: kernel.program.perfetto(log=getattr(kernel, "log", [])),
        **members_of(profile),
    }


def _write(
    path: str | os.PathLike[str],
    file_format: str,
    profile: RunProfile,
    members: Mapping[str, bytes],
) -> None:
    manifest = {
        "format": file_format,
        "version": VERSION,
        "kernel": profile.kernel,
        "architecture": profile.header["architecture"],
        "program": profile.header["program"],
    }
    _write_members(path, manifest, members)


def capture(program_path: str | os.PathLike[str], trace_path: str | os.PathLike[str]) -> None:
    """Writes the trace file of a stored program: what `neuron-profile capture` does."""
    program = read(program_path, PROGRAM)
    kept = {name: program.members[name] for name in _TRACE_MEMBERS}
    _write_members(trace_path, {**program.manifest, "format": TRACE}, kept)


def check_pair(program: ProfileFile, trace: ProfileFile) -> None:
    """ValueError for a trace that is of another program."""
    if program.manifest["program"] == trace.manifest["program"]:
        return
    kinds = [f"'{each.kernel}' on {each.manifest['architecture']}" for each in (trace, program)]
    of = " of another version of it" if kinds[0] == kinds[1] else f", which is {kinds[1]}"
    raise ValueError(f"{trace.path} is a trace of {kinds[0]}, not of {program.path}{of}.")


def read(path: str | os.PathLike[str], file_format: str) -> ProfileFile:
    """A file with all its members. FileNotFoundError; ValueError when it is not of that format,
    or a member is not as it was written."""
    name = os.fspath(path)
    what = f"a {file_format.rpartition(' ')[2]} file of neuron_sim"
    members = read_archive(path, what)
    manifest = _manifest(members, name, what)
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
    for field in ("kernel", "architecture", "program"):
        if not isinstance(manifest.get(field), str):
            raise ValueError(f"{name} is not {what}: its manifest.json has no '{field}'.")
    digests = manifest.get("members")
    if not isinstance(digests, dict):
        raise ValueError(f"{name} is not {what}: its manifest.json has no 'members'.")
    for member in {*_TRACE_MEMBERS, *digests}:
        if member not in members:
            raise ValueError(f"{name} is not {what}: it has no {member}.")
        if digests.get(member) != _digest(members[member]):
            raise ValueError(f"{name} is not {what}: its {member} was changed.")
    return ProfileFile(name, manifest, members)


def _manifest(members: Mapping[str, bytes], name: str, what: str) -> dict[str, Any]:
    if "manifest.json" not in members:
        raise ValueError(f"{name} is not {what}: it has no manifest.json.")
    value = parse_json(members["manifest.json"], f"manifest.json of {name}")
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not {what}: its manifest.json is not an object.")
    return value


def _write_members(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], members: Mapping[str, bytes]
) -> None:
    digests = {name: _digest(content) for name, content in members.items()}
    whole = {"manifest.json": _json({**manifest, "members": digests}), **members}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in whole.items():
            archive.writestr(zipfile.ZipInfo(name, _TIMESTAMP), data, zipfile.ZIP_DEFLATED)
    write_whole(path, content.getvalue())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()
