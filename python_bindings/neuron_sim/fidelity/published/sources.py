"""Where published kernels are: repositories, commits, files, functions, arguments, as data."""

from __future__ import annotations

import functools
import shlex
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuron_sim.fidelity.measurement import Measurement

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Source:
    """A repository at one commit."""

    repository: str
    """"owner/name" on GitHub."""
    commit: str

    def folder(self, checkouts: Path) -> Path:
        """Its checkout in a folder of checkouts: owner+name."""
        return checkouts / self.repository.replace("/", "+")

    def other_commit(self, folder: Path) -> str:
        """Why a checkout is not the source: git says that it is at another commit. Empty for the
        right one, and for a folder without .git, which says nothing."""
        if not (folder / ".git").exists():
            return ""
        command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = done.stdout.strip()
        if found == self.commit:
            return ""
        return f"the checkout is at commit '{found}', not {self.commit}"

    def clone_lines(self, checkouts: Path) -> list[str]:
        """Shell commands that make the checkout."""
        target = shlex.quote(str(self.folder(checkouts)))
        return [
            f"git clone https://github.com/{self.repository} {target}",
            f"git -C {target} checkout --quiet {self.commit}",
        ]


@dataclass(frozen=True)
class Launch:
    """A call of a kernel of an author's file."""

    file: str
    function: str
    arguments: tuple[Any, ...]
    """Arrays as {"dtype": ..., "shape": [...]}, other values as they are."""
    keywords: Mapping[str, Any] = field(default_factory=dict)
    flags: str = ""
    """Flags that the author's benchmark gave to the compiler."""
    candidate: int | None = None
    """The file is a trace of a search; the kernel is the text of this candidate, oldest first."""
    prelude: str = ""
    """Imports that the author's benchmark puts before the text of a candidate."""
    edits: Mapping[str, str] = field(default_factory=dict)
    """Lines that the author changed between runs, by their text at the commit."""


@dataclass(frozen=True)
class PublishedKernel:
    """What the author timed: launches, one after the other."""

    measurement: str
    """`id` of the measurement in data/latencies.json."""
    source: Source
    launches: tuple[Launch, ...]


@dataclass(frozen=True)
class MeasuredKernel:
    """A measurement that data/latencies.json does not have, and its kernel."""

    measurement: Measurement
    kernel: PublishedKernel


def _launch(entry: Mapping[str, Any], defaults: Mapping[str, Any], where: str) -> Launch:
    fields = {**defaults, **entry}
    fields["arguments"] = tuple(fields.get("arguments", ()))
    known = Launch.__dataclass_fields__
    wrong = sorted(fields.keys() - known.keys())
    missing = sorted({"file", "function"} - fields.keys())
    if wrong or missing:
        problem = f"has unknown keys {wrong}" if wrong else f"lacks {missing}"
        raise ValueError(f"{where} {problem}.")
    return Launch(**fields)


def read_sources(path: Path) -> list[PublishedKernel]:
    """The kernels of one TOML file. ValueError names an entry with unknown or missing keys."""
    document = tomllib.loads(path.read_text())
    source = Source(document["repository"], document["commit"])
    defaults = document.get("defaults", {})
    kernels = []
    for entry in document["kernel"]:
        rest = dict(entry)
        measurement = rest.pop("measurement")
        where = f"'{path.name}': the kernel of '{measurement}'"
        launches = rest.pop("launch", [{}])
        kernels.append(
            PublishedKernel(
                measurement,
                source,
                tuple(_launch({**rest, **each}, defaults, where) for each in launches),
            )
        )
    return kernels


@functools.cache
def published_kernels() -> dict[str, PublishedKernel]:
    """All kernels of this folder, by the measurement that they reproduce. ValueError for two."""
    kernels: dict[str, PublishedKernel] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for kernel in read_sources(path):
            if kernel.measurement in kernels:
                raise ValueError(f"'{path.name}': '{kernel.measurement}' has a kernel already.")
            kernels[kernel.measurement] = kernel
    return kernels


def clone_lines(sources: Iterable[Source], checkouts: Path) -> list[str]:
    """Shell commands that make the checkouts, one per repository, in the order of their names."""
    unique = {source.repository: source for source in sources}
    return [line for name in sorted(unique) for line in unique[name].clone_lines(checkouts)]
