"""`neuron_sim.architecture()`: an architecture's facts, and what-if copies with other facts."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from typing import NamedTuple

from neuron_sim import _core
from neuron_sim.files import write_whole
from neuron_sim.terminal.arguments import chosen_architecture


class Fact(NamedTuple):
    """A number that the model takes for a property of the hardware."""

    value: int | float | bool
    unit: str
    certainty: str
    """ "documented", "measured", "fitted" or "assumed"."""
    source: str
    """Where the value stands, or how it was found."""


class Architecture(str):
    """The text that names an architecture, usable wherever one is named, with its facts.

    The text is a built-in name or the path of a TOML file, so two architectures are equal if they
    are the same name or file; `differences()` compares facts.
    """

    @functools.cached_property
    def facts(self) -> dict[str, Fact]:
        """All facts by key, such as "clocks.tensor" or "limits.sbuf_partition"."""
        facts = _core.architecture_facts(str(self))
        names = ("unit", "certainty", "source")
        return {
            key: Fact(fact_value(key, fact["value"]), *(fact.get(name, "") for name in names))
            for key, fact in facts.items()
        }

    def fact(self, key: str) -> Fact:
        """The fact of a key; KeyError for an unknown key."""
        return self.facts[key]

    def differences(self, other: str) -> dict[str, tuple[Fact, Fact]]:
        """The facts whose values differ, as this architecture and as another has them."""
        others = Architecture(other).facts
        pairs = {key: (fact, others[key]) for key, fact in self.facts.items()}
        return {key: pair for key, pair in pairs.items() if pair[0].value != pair[1].value}

    def __repr__(self) -> str:
        return f"Architecture({str(self)!r})"


def architecture(
    name: str | os.PathLike[str] | None = None,
    overrides: Mapping[str, int | float | str] | None = None,
) -> Architecture:
    """The architecture of a name (inf2, trn1, trn2, trn3) or a TOML file, with other facts.

        chip = neuron_sim.architecture("trn2", {"hbm.bandwidth": "2x", "clocks.tensor": 2.8})
        print(chip.fact("clocks.tensor").value, chip.differences("trn2"))

    name: None: what the environment names, else the default. overrides: a number, or a factor such
    as "2x", by the key of a fact or the name of a group of them, as in an architecture file. The
    copy is a file that lasts as long as this process.

    ValueError for a name, key or value that the model does not take.
    """
    base = chosen_architecture(None if name is None else os.fspath(name))
    if not overrides:
        return Architecture(base)
    changes = ", ".join(f"{key} = {value}" for key, value in overrides.items())
    text = override_file(base, overrides, f"{os.path.basename(base)} with {changes}")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = os.path.join(_copies().name, f"{digest}.toml")
    write_whole(path, text)
    _core.architecture_facts(path)  # ValueError for what cannot be
    return Architecture(path)


def override_file(base: str, changes: Mapping[str, int | float | str], name: str) -> str:
    """The text of an architecture file: a base and what differs from it."""
    lines = [f"base = {json.dumps(base)}", f"name = {json.dumps(name)}"]
    lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in changes.items()]
    return "\n".join(lines) + "\n"


def fact_value(key: str, value: float) -> int | float | bool:
    """The value as its file has it: a flag, a whole number or a float."""
    if key.startswith("features."):
        return bool(value)
    return int(value) if value == int(value) else value


@functools.cache
def _copies() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="neuron-sim-")
