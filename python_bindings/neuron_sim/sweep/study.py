"""What is swept: a target, the values of its parameters, its inputs, and the architecture."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from neuron_sim import _core

Value: TypeAlias = "int | float | bool | str"
Point: TypeAlias = "dict[str, Value]"

MODEL = "model:"
"""How a target begins that is a model of `neuron-sim model`."""

ARCHITECTURE = "arch"
"""The parameter that is the architecture; its facts are parameters `arch.KEY`."""

MOST_POINTS = 1_000_000


def _simulator() -> list[tuple[int, int]]:
    """What identifies the installed libraries: their sizes and times."""
    folder = os.path.dirname(_core.__file__)
    places = (folder, os.path.join(folder, "lib"))
    names = (os.path.join(place, name) for place in places if os.path.isdir(place)
             for name in sorted(os.listdir(place)) if ".so" in name)  # fmt: skip
    return [(found.st_size, found.st_mtime_ns) for found in map(os.stat, names)]


@dataclass(frozen=True)
class Study:
    """`target` is FILE.py:FUNCTION, or model:NAME. A function is an NKI kernel, or returns
    `kernel.traced(...)` (or a list of those); it gets the parameters that are no architecture
    facts by name. Of a model they are options of `neuron-sim model`."""

    target: str
    parameters: Mapping[str, Sequence[Value]]
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Array arguments of a kernel: "bfloat16[128, K]", sizes being numbers, names of parameters
    and products of them."""
    architecture: str = _core.DEFAULT_ARCHITECTURE
    """A name or a TOML file."""
    has_energy: bool = False
    """Whether figures of kernels have energy and area too (sweep.energy)."""

    def __post_init__(self) -> None:
        """ValueError for a target without a function, a parameter without values, a grid that is
        too large, or energy of a model."""
        file, _, function = self.target.rpartition(":")
        if not file or not function:
            raise ValueError(
                f"target '{self.target}' must be FILE.py:FUNCTION or {MODEL}NAME of `neuron-sim "
                "model`."
            )
        if self.has_energy and self.is_model:
            raise ValueError(
                f"energy is counted of kernels, and '{self.target}' is a model: `neuron-sim model` "
                "does not tell the bytes of SBUF and PSUM."
            )
        for name, values in self.parameters.items():
            if not values:
                raise ValueError(f"parameter '{name}' has no values.")
        if self.size > MOST_POINTS:
            raise ValueError(f"the grid has {self.size} points; at most {MOST_POINTS} are swept.")

    @property
    def is_model(self) -> bool:
        """Whether the target is a model."""
        return self.target.startswith(MODEL)

    @property
    def size(self) -> int:
        """The number of points."""
        count = 1
        for values in self.parameters.values():
            count *= len(values)
        return count

    def points(self) -> Iterator[Point]:
        """All points of the grid; the last parameter changes fastest."""
        for values in itertools.product(*self.parameters.values()):
            yield dict(zip(self.parameters, values, strict=True))

    def keys(self, points: Iterable[Point]) -> list[str]:
        """The identities of points for files of results: digests of all that figures follow from,
        which is the target's file, inputs, facts of the architecture, and the simulator itself."""
        common = [self._origin, sorted(self.inputs.items()), _simulator(), self.has_energy]
        values: dict[str, Any] = {}
        keys = []
        for point in points:
            name = str(point.get(ARCHITECTURE, self.architecture))
            if name not in values:
                facts = _core.architecture_facts(name)
                values[name] = {key: fact["value"] for key, fact in facts.items()}
            text = json.dumps([common, sorted(point.items()), values[name]], sort_keys=True)
            keys.append(hashlib.sha256(text.encode()).hexdigest()[:32])
        return keys

    @property
    def _origin(self) -> str:
        """The target with the text of its file, so that a changed kernel is timed anew."""
        file = self.target.removeprefix(MODEL) if self.is_model else self.target.rpartition(":")[0]
        digest = ""
        if os.path.isfile(file):
            with open(file, "rb") as content:
                digest = hashlib.sha256(content.read()).hexdigest()
        return f"{os.path.basename(self.target)} {digest}"

    def describe(self) -> dict[str, Any]:
        """The study as JSON."""
        return {
            "target": self.target,
            "parameters": {name: list(values) for name, values in self.parameters.items()},
            "inputs": dict(self.inputs),
            "architecture": self.architecture,
            "has_energy": self.has_energy,
        }
