"""Parquet files of a profile: a file per table of the vendor's schema."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet

from neuron_sim.files import write_whole
from neuron_sim.nki.measurement.tables import SCHEMA, Field, tables_of
from neuron_sim.nki.measurement.tables.columns import Columns
from neuron_sim.nki.measurement.tables.run_profile import RunProfile

_TYPES = {
    "int32": pyarrow.int32(),
    "int64": pyarrow.int64(),
    "float": pyarrow.float32(),
    "double": pyarrow.float64(),
    "string": pyarrow.string(),
    "boolean": pyarrow.bool_(),
}


def arrow_tables(profile: RunProfile) -> dict[str, pyarrow.Table]:
    """The tables with every column of the schema; the unit of a column is in its metadata."""
    tables = tables_of(profile)
    return {name: _arrow_table(SCHEMA[name], columns) for name, columns in tables.items()}


def _arrow_table(fields: Sequence[Field], columns: Columns) -> pyarrow.Table:
    rows = max((len(values) for values in columns.values()), default=0)
    schema = pyarrow.schema([
        pyarrow.field(field.name, _TYPES[field.type],
                      metadata={"unit": field.unit} if field.unit else None)
        for field in fields
    ])  # fmt: skip
    arrays = [_array(columns.get(field.name), _TYPES[field.type], rows) for field in fields]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any] | np.ndarray | None, kind: Any, rows: int) -> pyarrow.Array:
    if values is None:
        return pyarrow.nulls(rows, kind)
    if isinstance(values, np.ma.MaskedArray):
        return pyarrow.array(values.data, mask=np.ma.getmaskarray(values), type=kind)
    if pyarrow.types.is_string(kind):
        values = list(values)
    return pyarrow.array(values, type=kind)


def write_parquet(tables: Mapping[str, pyarrow.Table], folder: str | os.PathLike[str]) -> None:
    """Writes `Instruction.parquet` and the other tables to a folder, which is made if missing.
    OSError when that is not possible."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        content = pyarrow.BufferOutputStream()
        parquet.write_table(table, content, compression="zstd")
        write_whole(Path(folder) / f"{name}.parquet", content.getvalue().to_pybytes())
