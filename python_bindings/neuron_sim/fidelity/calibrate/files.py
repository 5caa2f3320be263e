"""Architecture files of a fit: trials, which override single values, and the overlay."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuron_sim.files import read_text, write_whole

FOLDER = Path("device") / "arch" / "fitted"
"""Where the overlays are in the source tree, one per architecture."""
HAND_WRITTEN = "handwritten/"
"""Prefix of an architecture's name: without its overlay, so that every fit starts alike."""
_FACT = ("value", "unit", "source", "certainty", "date", "data_hash", "standard_error")


def write_trial(folder: Path, architecture: str, values: Mapping[str, tuple[float, str]]) -> Path:
    """The hand-written file of `architecture` except `values` (by dotted key, with their units).

    The same path is reused: the simulator reads a file every time it is named.
    """
    lines = [f'base = "{HAND_WRITTEN}{architecture}"', f'name = "{architecture}"']
    for key, (value, unit) in values.items():
        written = value if isinstance(value, int) else float(value)  # or one of NumPy's
        lines.append(
            f'{key} = {{ value = {str(written).lower()}, unit = "{unit}", '
            'source = "trial of a fit", certainty = "fitted" }'
        )
    path = folder / "trial.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@dataclass(frozen=True)
class FittedValue:
    """A result of a fit."""

    key: str
    value: float
    standard_error: float
    """In the unit of the value."""
    unit: str


def hash_files(paths: Iterable[Path]) -> str:
    """SHA-256 over names and contents, in the order of the names; the first 16 hex digits."""
    digest = hashlib.sha256()
    for path in sorted(paths, key=lambda each: each.name):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _facts(table: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, inner in table.items():
        key = f"{prefix}{name}"
        if isinstance(inner, Mapping) and "value" not in inner:
            yield from _facts(inner, f"{key}.")
        else:
            yield key, inner


def check_overlay(path: Path) -> None:
    """ValueError when the file at `path` is not an overlay of fitted values: only an overlay
    is ever overwritten."""
    if not path.exists():
        return
    try:
        document = tomllib.loads(read_text(path, "overlay"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"overlay '{path}' cannot be read: {error}.") from None
    except RecursionError:
        raise ValueError(f"overlay '{path}' cannot be read: it is nested too deep.") from None
    for key, fact in _facts(document):
        if not isinstance(fact, Mapping) or fact.get("certainty") != "fitted":
            raise ValueError(
                f"'{path}' is not an overlay of fitted values: it holds '{key}'; "
                "it is left as it is."
            )


def write_overlay(
    path: Path,
    architecture: str,
    values: Iterable[FittedValue],
    *,
    source: str,
    date: str,
    data_hash: str,
) -> None:
    """Writes an overlay of these values, the result of one calibration, in place of any other."""
    import tomlkit

    check_overlay(path)
    document = tomlkit.document()
    document.add(tomlkit.comment(f"Fitted values of {architecture}, by neuron-sim calibrate."))
    for fitted in values:
        *sections, name = fitted.key.split(".")
        table = document
        for section in sections:
            if section not in table:
                table[section] = tomlkit.table(is_super_table=section != sections[-1])
            table = table[section]
        fact = tomlkit.inline_table()
        written = (
            float(f"{fitted.value:.6g}"),
            fitted.unit,
            source,
            "fitted",
            date,
            data_hash,
            float(f"{fitted.standard_error:.3g}"),
        )
        fact.update(dict(zip(_FACT, written, strict=True)))
        table[name] = fact
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, tomlkit.dumps(document))
    except OSError as error:
        raise ValueError(f"'{path}' cannot be written: {error.strerror}.") from None
