"""Columns of tables, before they have types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Columns: TypeAlias = "dict[str, np.ndarray | Sequence[Any]]"
"""Values by name, as many of each; None or a masked value where there is none. A column of the
schema that is not here has no value."""


def integers(values: np.ndarray) -> np.ndarray:
    """Rounded to the nearest integer."""
    return np.rint(values).astype(np.int64)


def optional_integers(size: int, places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A column of `size` rows that has values in some places only."""
    column = np.ma.masked_all(size, np.int64)
    column[places] = values
    return column
