"""A recorded run as bytes, and back.

The length of the header (8 bytes, little endian), the header (JSON), the columns. A column lies in
planes: the lowest byte of all its numbers, then the next one, as many as its largest number needs.
The numbers of the coding "delta" are differences from one to the next, d >= 0 as 2d and d < 0 as
-2d - 1; of "raw" they are the numbers themselves, as they lie in memory. `header["columns"]` has
name, type, coding, planes, offset after the header, and count of each.
"""

from __future__ import annotations

import json
from typing import Final

import numpy as np

from neuron_sim.files import parse_json
from neuron_sim.timeline.columns import DTYPES
from neuron_sim.timeline.recorded_run import RecordedRun

_NAMES: Final = {dtype: name for name, dtype in DTYPES.items()}
_LARGEST: Final = 2**52
"""Differences below it are exact in JavaScript when they are coded."""
VERSION: Final = 2
"""The version of this layout, of the names of columns and of members of the header."""


def pack(run: RecordedRun) -> bytes:
    """Header and columns of a run."""
    places, pieces, offset = [], [], 0
    for name, values in run.columns.items():
        coding, planes = _coded(values)
        places.append((name, _NAMES[values.dtype], coding, len(planes), offset, len(values)))
        pieces.append(planes.tobytes())
        offset += len(pieces[-1])
    header = run.header | {"version": VERSION, "columns": places}
    encoded = json.dumps(header, separators=(",", ":")).encode()
    return b"".join([len(encoded).to_bytes(8, "little"), encoded, *pieces])


def unpack(content: bytes) -> RecordedRun:
    """The run that pack() was given. ValueError for bytes of another version, or damaged ones."""
    length = int.from_bytes(content[:8], "little")
    header = parse_json(content[8 : 8 + length].decode("utf-8", "replace"), "its header")
    if not isinstance(header, dict) or header.pop("version", None) != VERSION:
        raise ValueError("it was written by another version of neuron_sim.")
    body = memoryview(content)[8 + length :]
    try:
        columns = {name: _decoded(body, *place) for name, *place in header.pop("columns")}
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"its columns are damaged: {error}.") from None
    return RecordedRun(header, columns)


def _coded(values: np.ndarray) -> tuple[str, np.ndarray]:
    """The coding of a column, and its planes, one a row."""
    whole = values.astype(np.int64)
    if np.array_equal(whole, values):
        differences = np.diff(whole, prepend=0)
        if np.abs(differences, out=np.empty_like(whole)).max(initial=0) < _LARGEST:
            return "delta", _planes((differences << 1) ^ (differences >> 63))
    return "raw", values.view(np.uint8).reshape(-1, values.itemsize).T


def _planes(numbers: np.ndarray) -> np.ndarray:
    """The bytes of numbers >= 0 that are not 0 in all of them; one at least."""
    count = max(1, -(-int(numbers.max(initial=0)).bit_length() // 8))
    return numbers.view(np.uint8).reshape(-1, 8)[:, :count].T


def _decoded(
    body: memoryview, kind: str, coding: str, planes: int, offset: int, count: int
) -> np.ndarray:
    rows = np.frombuffer(body, np.uint8, planes * count, offset).reshape(planes, count)
    if coding == "raw":
        return np.ascontiguousarray(rows.T).reshape(-1).view(DTYPES[kind])
    widened = np.zeros((count, 8), np.uint8)
    widened[:, :planes] = rows.T
    numbers = widened.reshape(-1).view(np.int64)
    return np.cumsum((numbers >> 1) ^ -(numbers & 1)).astype(DTYPES[kind])
