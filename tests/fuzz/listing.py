"""A program as data: what is built with neuron_sim._core and what the naive interpreter reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

DTYPES: dict[str, np.dtype] = {
    "float32": np.dtype(np.float32),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float16": np.dtype(np.float16),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "int32": np.dtype(np.int32),
    "uint32": np.dtype(np.uint32),
    "int16": np.dtype(np.int16),
    "uint16": np.dtype(np.uint16),
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
}

NAMES = {dtype: name for name, dtype in DTYPES.items()}


def is_integer(dtype: str) -> bool:
    return "int" in dtype


@dataclass(frozen=True)
class Index:
    """constant + sum of factor * variable of the open loop at that level."""

    constant: int
    factors: tuple[tuple[int, int], ...] = ()

    def value(self, variables: Sequence[int]) -> int:
        return self.constant + sum(factor * variables[level] for level, factor in self.factors)

    def built(self, variables: Sequence[Any]) -> Any:
        """The same of the builder's variables."""
        result = self.constant
        for level, factor in self.factors:
            result = variables[level] * factor + result
        return result


@dataclass(frozen=True)
class Storage:
    """A tile of SBUF or PSUM (shape [partitions, free...]), or a tensor in HBM."""

    memory: str
    """sbuf, psum, argument or scratch."""
    shape: tuple[int, ...]
    dtype: str
    ring: int = 1
    address: int | None = None
    """Byte within the partitions, of a tile that is placed by hand."""


@dataclass(frozen=True)
class Step:
    """One step from a storage to what an operand names; `kind` says what the numbers are."""

    kind: str
    numbers: tuple[Any, ...]


@dataclass(frozen=True)
class Access:
    """Elements of a storage: of tile `turn` of its ring, after some steps."""

    storage: int
    turn: Index | None = None
    steps: tuple[Step, ...] = ()
    register: tuple[int, int] | None = None
    """A register and how many bytes one of it moves the access."""
    rows: tuple[int, int] | None = None
    """Of an indirect access: rows of the tensor, and rows that are named."""


@dataclass(frozen=True)
class Operation:
    """An instruction: accesses by operand name, everything else by parameter name."""

    name: str
    accesses: dict[str, Access]
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass
class Repeat:
    """A loop. `register`: it runs as often as that register of Sync says, at most `trips`."""

    trips: int
    body: list[Operation | Repeat]
    register: int | None = None


@dataclass
class Listing:
    """A whole program; `inputs` are what its arguments hold at the start, by storage."""

    architecture: str
    placement: str
    storages: list[Storage] = field(default_factory=list)
    body: list[Operation | Repeat] = field(default_factory=list)
    inputs: dict[int, np.ndarray] = field(default_factory=dict)

    def arguments(self) -> list[int]:
        return [i for i, each in enumerate(self.storages) if each.memory == "argument"]


def view_of(base: Any, access: Access, variables: Sequence[Any]) -> Any:
    """The view of the builder that an access names."""
    view = base
    if access.turn is not None:
        view = view.turn(access.turn.built(variables))
    for step in access.steps:
        view = _stepped(view, step, variables)
    if access.rows is not None:
        view = view.indirect(*access.rows)
    if access.register is not None:
        view = view.at_register(*access.register)
    return view


def _stepped(view: Any, step: Step, variables: Sequence[Any]) -> Any:
    if step.kind == "slice":
        dimension, start, size, stride = step.numbers
        first = start.built(variables)
        index: list[Any] = [slice(None)] * dimension
        index.append(slice(first, first + ((size - 1) * stride + 1), stride))
        return view[tuple(index)]
    if step.kind == "pattern":
        dimensions, offset, partition = step.numbers
        return view.pattern(
            [list(each) for each in dimensions], offset.built(variables), partition.built(variables)
        )
    if step.kind == "select":
        dimension, index = step.numbers
        return view[(*[slice(None)] * dimension, index.built(variables))]
    numbers = [list(each) if isinstance(each, tuple) else each for each in step.numbers]
    return getattr(view, step.kind)(*numbers)
