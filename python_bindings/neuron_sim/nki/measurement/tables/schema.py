"""The vendor's profile schema, of the tables that the simulator writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Field(NamedTuple):
    """A column of a table."""

    name: str
    type: str
    """int32, int64, float, double, string or boolean."""
    unit: str
    """"" where there is none."""
    required: bool
    """Whether the vendor's tool always has a value."""


_STORED = json.loads((Path(__file__).parent / "schema.json").read_text(encoding="utf-8"))

VERSION: str = _STORED["version"]
"""The version of the schema; the vendor counts it as MAJOR.MINOR.PATCH."""
SOURCE: str = _STORED["source"]
"""The vendor's page."""
SCHEMA: dict[str, list[Field]] = {
    table: [Field(*field) for field in fields] for table, fields in _STORED["tables"].items()
}
"""Columns by table."""
