"""Results in a file of JSON lines that is only appended to: a stopped sweep continues.

A line is {"key", "point", "figures"}; the key identifies all that the figures follow from, so that
one file serves several sweeps. A line that was cut off by a crash is ignored.
"""

from __future__ import annotations

import json
import os
from typing import Any, TypeAlias

from neuron_sim.sweep.study import Point

Figures: TypeAlias = "dict[str, Any]"


class Results:
    """Figures by key; without a path they live as long as the object."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Reads the file if there is one. OSError when it cannot be read or appended to;
        ValueError for a file of something else."""
        self.path = None if path is None else os.fspath(path)
        self.found: dict[str, Figures] = {}
        self._descriptor: int | None = None
        if self.path is not None:
            self._read(self.path)
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    def _read(self, path: str) -> None:
        self._ends_torn = False
        if not os.path.exists(path):
            return
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
        self._ends_torn = lines[-1] != ""
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                entry = json.loads(line)
                self.found[entry["key"]] = entry["figures"]
            except (ValueError, KeyError, TypeError, RecursionError):
                if number == 1 and len(lines) > 1:
                    raise ValueError(f"'{path}' is no file of results of a sweep.") from None

    def add(self, key: str, point: Point, figures: Figures) -> None:
        """Keeps the figures of a point; the whole line is written at once. OSError."""
        self.found[key] = figures
        if self._descriptor is None:
            return
        line = json.dumps({"key": key, "point": point, "figures": figures}) + "\n"
        if self._ends_torn:
            line = "\n" + line
            self._ends_torn = False
        os.write(self._descriptor, line.encode())

    def close(self) -> None:
        """Closes the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
