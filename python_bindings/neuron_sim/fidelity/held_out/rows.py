"""Rows of test suites with measured times, as data."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuron_sim.fidelity.measurement import Measurement, parse_measurement
from neuron_sim.fidelity.published.sources import Source

FOLDER = Path(__file__).parent

PICOSECONDS_PER_MICROSECOND = 1e6


@dataclass(frozen=True)
class Suite:
    """A test file of a repository, and what it needs to be imported."""

    source: Source
    file: str
    paths: tuple[str, ...]
    """Folders of the checkout on the import path."""
    stand_ins: tuple[str, ...]
    """Modules that the file imports and a simulation does not need."""
    execution: int
    """Which execution of a kernel its harness profiles: the first one has warm-up delays."""
    repairs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By module: its `file` and `edits`, texts that keep it from being imported."""


@dataclass(frozen=True)
class Row:
    """A measurement, and the call of the suite's test that it belongs to."""

    measurement: Measurement
    suite: Suite
    method: str
    """"Class.method"."""
    parameters: Mapping[str, str]
    """By name, expressions of the file."""
    cores: int | None = None
    """On how many cores of a logical core the time was measured; None: as the test launches."""


def _cores(test: Mapping[str, Any], parameters: Mapping[str, str]) -> int | None:
    """The number of cores of a row: `cores` is that number or names the column that has it."""
    cores = test.get("cores")
    return int(parameters[cores]) if isinstance(cores, str) else cores


def _rows(document: Mapping[str, Any], suite: Suite, where: str) -> list[Row]:
    rows = []
    for test in document["test"]:
        columns = test["columns"]
        for line, text in test["rows"].items():
            values = text.split(", ")
            if len(values) != len(columns):
                raise ValueError(
                    f"{where}: row {line} has {len(values)} values for {len(columns)} columns."
                )
            parameters = dict(zip(columns, values, strict=True)) | test.get("others", {})
            picoseconds = float(parameters[test["time"]])
            entry = {
                **document["measurement"],
                "id": f"{document['measurement']['family']}-{line}".replace("_", "-"),
                "kernel": test["method"],
                "shapes": text,
                "source": f"{suite.source.repository} {suite.file}:{line}",
                "value": picoseconds / PICOSECONDS_PER_MICROSECOND,
                "unit": "us",
                "split": "held_out",
                "execution": suite.execution,
            }
            measurement = parse_measurement(entry)
            cores = _cores(test, parameters)
            rows.append(Row(measurement, suite, test["method"], parameters, cores))
    return rows


def read_rows(path: Path) -> list[Row]:
    """The rows of one TOML file. ValueError for a row that has not one value per column."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    suite = Suite(
        Source(document["repository"], document["commit"]),
        document["file"],
        tuple(document["paths"]),
        tuple(document["stand_ins"]),
        document["execution"],
        document.get("repairs", {}),
    )
    return _rows(document, suite, f"'{path.name}'")


@functools.cache
def held_out_rows() -> tuple[Row, ...]:
    """All rows of this folder, in the order of the files' names."""
    return tuple(row for path in sorted(FOLDER.glob("*.toml")) for row in read_rows(path))
