"""Show what is installed and chosen: versions, architecture, host, settings.

  neuron-sim info --json

Of the settings those that the environment changes are shown.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import os
import platform
from typing import Any

from neuron_sim import _core
from neuron_sim.terminal.arguments import chosen_architecture, print_result
from neuron_sim.terminal.exit_codes import SUCCESS
from neuron_sim.terminal.json_output import add_json

SUMMARY = "show versions, the chosen architecture and settings"

PACKAGES = ("neuron_sim", "torch", "numpy", "transformers", "optuna", "distributed")
"""Those whose versions matter for a report; the last three are optional."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """SUCCESS; ValueError when the environment names an architecture that is not there."""
    found = info()
    print_result(arguments, found, lambda: _print_text(found))
    return SUCCESS


def _print_text(found: dict[str, dict[str, Any]]) -> None:
    for heading, entries in found.items():
        print(heading)
        width = max((len(name) for name in entries), default=0)
        for name, value in entries.items():
            print(f"  {name.ljust(width)}  {value}")
        if not entries:
            print("  none")


def info() -> dict[str, dict[str, Any]]:
    """Versions ("not installed" without one), the architecture, the host, and the settings that the
    environment changes."""
    name = chosen_architecture(None)
    facts = _core.architecture_facts(name)
    return {
        "versions": {
            "Python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        "architecture": {
            "name": name,
            "facts": len(facts),
            "built in": ", ".join(_core.architectures()),
        },
        "host": {
            "system": platform.platform(),
            "processors": os.cpu_count(),
            "products": _products(),
            "package": os.path.dirname(os.path.abspath(_core.__file__)),
        },
        "settings": {
            each: _core.setting(each) for each, *_ in _core.settings() if _core.setting(each)
        },
    }


@functools.cache
def _products() -> str:
    """The host's kernels of products with their rates, measured once."""
    return "; ".join(
        f"{name}{' (used)' if is_used else ''}: {fp32:.0f} GFLOP/s in fp32, {bf16:.0f} in bf16"
        for name, is_used, fp32, bf16 in _core.product_kernels()
    )


def version(package: str) -> str:
    """The version of an installed package, else "not installed"."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
