#!/usr/bin/env python3
"""Writes the typed stubs of nki.isa of both languages, from the signatures of their functions.

Usage: write_stubs.py [--check]; --check writes nothing and ends with 1 if a stub is stale.
"""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from generated_page import write_or_check
from neuron_sim.nki.isa.declared import annotation_of

ROOT = Path(__file__).resolve().parents[1] / "python_bindings" / "neuron_sim"
MODULES = ("nki.isa", "neuronxcc.nki.isa")


def _declaration(module: ModuleType, name: str) -> str:
    """What a stub says of a name of a module."""
    value = getattr(module, name)
    if inspect.isfunction(value):
        parameters = [
            each.replace(
                annotation=annotation_of(each),
                default=each.default if each.default is each.empty else ...,
            )
            for each in inspect.signature(value).parameters.values()
        ]
        written = str(inspect.Signature(parameters)).replace("'", "").replace("Ellipsis", "...")
        return f"def {name}{written} -> Any: ..."
    if inspect.ismodule(value):
        return f"from . import {name} as {name}"
    if inspect.isclass(value) and value.__module__ != module.__name__:
        return f"from {value.__module__} import {name} as {name}"
    return f"{name}: {'Any' if inspect.isclass(value) else type(value).__name__}"


def stub(module: ModuleType) -> str:
    """The stub of a module."""
    lines = sorted((_declaration(module, name) for name in module.__all__), key=_is_no_import)
    text = (
        "# Written by tools/write_stubs.py.\n# ruff: noqa: I001\n"
        "from collections.abc import Callable\nfrom typing import Any\n\n"
        "from neuron_sim.nki.language import NkiTensor as Tensor\n"
        + "\n".join(lines)
        + "\n\n__all__: list[str]\n"
    )
    command = ["ruff", "format", "--quiet", "--stdin-filename", "stub.pyi", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def _is_no_import(line: str) -> bool:
    return not line.startswith("from ")


def main() -> int:
    status = 0
    for name in MODULES:
        module = importlib.import_module(f"neuron_sim.{name}")
        path = ROOT.joinpath(*name.split("."), "__init__.pyi")
        status |= write_or_check(path, stub(module))
    return status


if __name__ == "__main__":
    sys.exit(main())
