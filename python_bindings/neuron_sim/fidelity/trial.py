"""Architecture files that differ from a built-in one in single values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_trial(folder: Path, architecture: str, values: Mapping[str, tuple[float, str]]) -> Path:
    """A file of `architecture` except `values` (by dotted key, with their units).

    The same path is reused: the simulator reads a file every time it is named.
    """
    lines = [f'base = "{architecture}"', f'name = "{architecture}"']
    for key, (value, unit) in values.items():
        written = value if isinstance(value, int) else float(value)  # or one of NumPy's
        lines.append(
            f'{key} = {{ value = {str(written).lower()}, unit = "{unit}", '
            'source = "trial of a fit", certainty = "fitted" }'
        )
    path = folder / "trial.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
