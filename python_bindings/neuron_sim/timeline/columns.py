"""Columns of a recording as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

DTYPES: Final = {
    name: np.dtype(kind)
    for name, kind in {"f8": "<f8", "u4": "<u4", "i4": "<i4", "u1": "u1"}.items()
}
"""By the name of the type in a recording."""


def column(recording: Mapping[str, Any], name: str) -> np.ndarray:
    """A column of what `Program.recording` returned."""
    kind, content = recording["columns"][name]
    return np.frombuffer(content, DTYPES[kind])
