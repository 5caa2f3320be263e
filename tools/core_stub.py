#!/usr/bin/env python3
"""Writes the types of neuron_sim._core to python_bindings/neuron_sim/_core.pyi, for mypy.

They are read off the installed module; fields and properties of types in C are of any type.
"""

from __future__ import annotations

import re
from pathlib import Path

from nanobind.stubgen import StubGen
from neuron_sim import _core

TARGET = Path(__file__).resolve().parents[1] / "python_bindings/neuron_sim/_core.pyi"


def stub() -> str:
    """The stub of the module."""
    generator = StubGen(module=_core, include_private=True, quiet=True)
    generator.put(_core)
    text = re.sub(
        r": (getset_descriptor|types\.\w+DescriptorType) = \.\.\.", ": Any", generator.get()
    )
    text = text.replace("(*args, **kwargs) -> Any", "(*args: Any, **kwargs: Any) -> Any")
    return text.replace("    __hash__: None = None\n", "")  # which derived classes define


if __name__ == "__main__":
    TARGET.write_text(stub(), encoding="utf-8")
