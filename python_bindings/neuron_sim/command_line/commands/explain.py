"""Explain an instruction of nki.isa: meaning, limits, operands, engines, and timing facts.

  neuron-sim explain nc_matmul
  neuron-sim explain tensor_copy --arch trn1 --json

Meaning and limits come from the documentation of the function; operands, attributes and engines
from the simulator's tables. Timing facts are listed for the engine that runs the instruction, or
triggers it as a transfer, unless the kernel chooses another one; of transfers also dma.*.
"""

from __future__ import annotations

import argparse
import inspect
from typing import Any

from neuron_sim import _core
from neuron_sim.command_line.commands.arch import shown
from neuron_sim.neuronxcc.nki import isa as old
from neuron_sim.nki import isa as new
from neuron_sim.terminal.arguments import add_architecture, chosen_architecture, print_result
from neuron_sim.terminal.exit_codes import SUCCESS
from neuron_sim.terminal.json_output import add_json
from neuron_sim.terminal.suggestions import did_you_mean
from neuron_sim.terminal.tables import print_table

SUMMARY = "explain an instruction: meaning, limits, operands, engine, timing facts"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("instruction", metavar="INSTRUCTION", help="a name of nki.isa")
    add_architecture(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """SUCCESS; ValueError for an unknown instruction or architecture."""
    found = explained(arguments.instruction, chosen_architecture(arguments.arch))
    print_result(arguments, found, lambda: _print_text(found))
    return SUCCESS


def _print_text(found: dict[str, Any]) -> None:
    print(f"{found['instruction']}\n\n{found['meaning']}\n")
    print_table(found["operands"])
    if found["attributes"]:
        print(f"\nattributes: {', '.join(found['attributes'])}")
    print()
    print_table(found["engines"])
    if found["facts"]:
        print(f"\ntiming facts on {found['architecture']}:")
        print_table(found["facts"], ["fact", "value", "unit", "certainty", "source"])


def explained(name: str, architecture: str) -> dict[str, Any]:
    """What is known of an instruction, as JSON. ValueError with the nearest name for an unknown
    one."""
    names = _core.instructions()
    if name not in names:
        raise ValueError(f"there is no instruction '{name}'{did_you_mean(name, names)}.")
    entry = _entry(name, architecture)
    return {
        "instruction": name,
        "meaning": meaning(name),
        "operands": [
            {
                "operand": each["name"],
                "direction": each["direction"],
                "may be absent": each["optional"],
            }
            for each in entry["operands"]
        ],
        "attributes": entry["attributes"],
        "engines": [_engine(name, each) for each in _core.architectures()],
        "architecture": architecture,
        "facts": _facts(architecture, name, entry["engine"]) if entry["exists"] else [],
    }


def _entry(name: str, architecture: str) -> dict[str, Any]:
    return next(e for e in _core.instruction_table(architecture) if e["name"] == name)


def _engine(name: str, architecture: str) -> dict[str, Any]:
    """Where an architecture runs it, unless a kernel chooses."""
    entry = _entry(name, architecture)
    where = (entry["engine"] or "depends on the operands") if entry["exists"] else "not there"
    return {"architecture": architecture, "engine": where}


def _facts(architecture: str, name: str, engine: str) -> list[dict[str, Any]]:
    """The clock and timing facts of an engine, and those of the DMA engines for a transfer. Empty
    for an instruction without a fixed engine."""
    facts = _core.architecture_facts(architecture)
    tables = (f"{engine.lower()}.", *(["dma."] if name.startswith("dma_") else []))
    keys = [key for key in facts if f"{key}." == f"clocks.{tables[0]}" or key.startswith(tables)]
    return shown(facts, keys, None) if keys else []


def meaning(name: str) -> str:
    """The documentation of the function of nki.isa, of the old language where the new one lacks
    it."""
    for module in (new, old):
        text = inspect.getdoc(getattr(module, name, None)) if hasattr(module, name) else None
        if text:
            return text
    return "No function of nki.isa has this name; the languages emit it for others."
