"""What the table [sweep] of a TOML file declares; the rest of the file is the chip."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from neuron_sim.sweep.study import ARCHITECTURE, MODEL, Value
from neuron_sim.sweep.values import parse_parameter
from neuron_sim.terminal.suggestions import did_you_mean, did_you_mean_file

SWEEP = "sweep"
_KEYS = ("target", "over", "input")


class Declared(NamedTuple):
    """What a study is made of; what the file leaves open is empty."""

    target: str
    parameters: dict[str, tuple[Value, ...]]
    inputs: dict[str, str]
    architecture: str | None
    """The file itself where it describes a chip."""


def read_study(path: str) -> Declared:
    """The study of a file. Files that it names stand beside it, as its base does.

    ValueError for a file that is not there, is not valid TOML or has no [sweep] with a target, and
    for what the table cannot have.
    """
    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError:
        near = did_you_mean_file(path)
        raise ValueError(f"there is no file '{path}'{near}.") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"'{path}' is not valid TOML: {error}.") from None
    table = document.pop(SWEEP, None)
    if not isinstance(table, Mapping) or not isinstance(table.get("target"), str):
        raise ValueError(
            f"'{path}' must have a table [{SWEEP}] with target = \"FILE.py:FUNCTION\" or "
            f'"{MODEL}NAME".'
        )
    for key in table:
        if key not in _KEYS:
            allowed = ", ".join(_KEYS)
            raise ValueError(
                f"key '{SWEEP}.{key}' of '{path}' is unknown{did_you_mean(key, _KEYS)}; allowed "
                f"there: {allowed}."
            )
    folder = os.path.dirname(path)
    target = table["target"]
    if not target.startswith(MODEL):
        target = os.path.join(folder, target)
    return Declared(
        target,
        {name: _values(path, folder, name, value) for name, value in _flat(path, table, "over")},
        {name: _text(path, f"input.{name}", form) for name, form in _flat(path, table, "input")},
        path if document.keys() - {"name"} else None,
    )


def _flat(
    path: str, table: Mapping[str, Any], key: str, prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """The entries of a table under dotted names: a key without quotes is a table in a table."""
    entries = table.get(key, {})
    if not isinstance(entries, Mapping):
        raise ValueError(f"key '{SWEEP}.{key}' of '{path}' must be a table.")
    for name, value in entries.items():
        if isinstance(value, Mapping):
            yield from _flat(path, entries, name, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _values(path: str, folder: str, name: str, value: Any) -> tuple[Value, ...]:
    if isinstance(value, str):
        values = parse_parameter(f"{name}={value}")[1]
    else:
        values = tuple(value if isinstance(value, list) else [value])
    for each in values:
        if not isinstance(each, int | float | str):
            raise ValueError(
                f"key '{SWEEP}.over.{name}' of '{path}' has the value {each}, but values are "
                "numbers, texts, true and false."
            )
    if name == ARCHITECTURE:
        return tuple(
            os.path.join(folder, each) if isinstance(each, str) and each.endswith(".toml") else each
            for each in values
        )
    return values


def _text(path: str, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"key '{SWEEP}.{key}' of '{path}' is {value}, but must be a string.")
    return value
