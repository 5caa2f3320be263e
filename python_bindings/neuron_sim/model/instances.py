"""Instances that the vendor rents out: their architecture and chips."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuron_sim import _core

_INSTANCES = Path(__file__).with_name("instances.json")


@dataclass(frozen=True)
class Instance:
    """One kind of instance."""

    name: str
    architecture: str
    chips: int

    @property
    def cores(self) -> int:
        """NeuronCores; a program of PyTorch takes one of them."""
        return self.chips * int(
            _core.architecture_facts(self.architecture)["limits.cores"]["value"]
        )

    def groups(self, ranks: int, logical_core: int = 1) -> int:
        """Groups of so many ranks that it holds, each a logical core of so many physical ones;
        ValueError when it does not hold one."""
        cores = self.cores // logical_core
        if ranks > cores:
            size = "" if logical_core == 1 else f" logical cores of {logical_core}"
            raise ValueError(f"--tp is {ranks}; an {self.name} has {cores}{size or ' cores'}.")
        return cores // ranks


def with_instance(row: dict[str, Any], name: str, price: float | None) -> dict[str, Any]:
    """A row of rows.inference() or rows.generation() with the figures of an instance, all of whose
    cores do the same: requests or output tokens per second, and what a million of them cost at
    `price` dollars per hour (None without one). ValueError when it has too few cores."""
    generates = "tokens_per_second" in row
    rate, unit = ("tokens_per_second", "_tokens") if generates else ("per_second", "")
    groups = instance(name).groups(row.get("ranks", 1), row.get("logical_core", 1))
    per_second = groups * row[rate]
    cost = None if price is None else price / 3600 / per_second * 1e6
    figures = {f"{rate}_instance": per_second, f"dollars_per_million{unit}": cost}
    return {**row, "instance": name, "groups": groups, **figures}


@functools.cache
def _instances() -> dict[str, Instance]:
    """From instances.json; sources: inf2-arch.rst, trn1-arch.rst, trn2-arch.rst of the vendor."""
    known = json.loads(_INSTANCES.read_text())
    return {name: Instance(name, **fields) for name, fields in known.items()}


def instance(name: str) -> Instance:
    """The instance of that name; ValueError when there is none."""
    if name not in _instances():
        raise ValueError(f"'{name}' is not one of the instances {', '.join(_instances())}.")
    return _instances()[name]
