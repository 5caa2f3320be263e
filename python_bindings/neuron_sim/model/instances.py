"""Instances that the vendor rents out: their architecture and chips."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

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

    def groups(self, ranks: int) -> int:
        """Groups of so many ranks that it holds; ValueError when it does not hold one."""
        if ranks > self.cores:
            raise ValueError(f"--tp is {ranks}; an {self.name} has {self.cores} cores.")
        return self.cores // ranks


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
