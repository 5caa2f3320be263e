"""List the architectures, show their facts with unit, source and certainty, compare two.

  neuron-sim arch list
  neuron-sim arch show trn2 'dma.*' --certainty measured fitted
  neuron-sim arch diff trn2 mine.toml

ARCH, A and B are what --arch takes: a name or a TOML file. PATTERN is a glob
over the keys of facts, or one of the names that stand for several, such as hbm.bandwidth. An
editor checks and completes a file with the schema, which its first line names:

  neuron-sim arch schema > neuron_sim.schema.json    # in mine.toml: #:schema neuron_sim.schema.json
"""

from __future__ import annotations

import argparse
import fnmatch
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from neuron_sim import _core
from neuron_sim.terminal.arguments import (
    ARCHITECTURE_FORMS,
    DIFFERENCE_FAILS,
    add_command,
    add_commands,
    add_exit_code,
    chosen_architecture,
    comparison_code,
    print_result,
)
from neuron_sim.terminal.exit_codes import SUCCESS
from neuron_sim.terminal.json_output import add_json
from neuron_sim.terminal.suggestions import did_you_mean
from neuron_sim.terminal.tables import print_table
from neuron_sim.timeline.file_schema import file_schema
from neuron_sim.timeline.hardware import fact_value
from neuron_sim.timeline.peaks import dma_bandwidth, hbm_bandwidth, peak_operations

SUMMARY = "list, show and compare architectures"

FAILS = {"diff": DIFFERENCE_FAILS}

Facts = Mapping[str, Mapping[str, Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = add_commands(parser)
    listing = add_command(
        commands,
        "list",
        "the built-in architectures and their main figures",
        "neuron-sim arch list --json",
    )
    show = add_command(
        commands,
        "show",
        "the facts of one architecture",
        "neuron-sim arch show trn2 'dma.*' --certainty measured fitted",
    )
    show.add_argument("architecture", metavar="ARCH", nargs="?", help=ARCHITECTURE_FORMS)
    show.add_argument("patterns", metavar="PATTERN", nargs="*", help="keys of facts; default: all")
    show.add_argument("--certainty", nargs="+", metavar="C", help="only facts of these certainties")
    diff = add_command(
        commands,
        "diff",
        "the facts in which two architectures differ",
        "neuron-sim arch diff trn2 mine.toml",
    )
    diff.add_argument("first", metavar="A", help=ARCHITECTURE_FORMS)
    diff.add_argument("second", metavar="B", help="the same")
    add_exit_code(diff)
    add_command(
        commands,
        "schema",
        "the JSON schema of TOML files, for editors",
        "neuron-sim arch schema > neuron_sim.schema.json",
    )
    for each in (listing, show, diff):
        add_json(each)


def run(arguments: argparse.Namespace) -> int:
    """An exit code. ValueError for what is not there."""
    if arguments.command == "schema":
        print(json.dumps(file_schema(), indent=1))
        return SUCCESS
    if arguments.command == "list":
        rows = [summary(name) for name in _core.architectures()]
    elif arguments.command == "show":
        name = chosen_architecture(arguments.architecture)
        facts = _core.architecture_facts(name)
        rows = shown(facts, arguments.patterns, arguments.certainty)
    else:
        first, second = arguments.first, arguments.second
        rows = differences(_core.architecture_facts(first), _core.architecture_facts(second))
    print_result(arguments, rows, lambda: print_table(rows) if rows else print("No differences."))
    return comparison_code(arguments, bool(rows)) if arguments.command == "diff" else SUCCESS


def summary(name: str) -> dict[str, Any]:
    """The main figures of an architecture, per NeuronCore."""
    facts = _core.architecture_facts(name)
    certainties = Counter(fact["certainty"] for fact in facts.values())
    return {
        "architecture": name,
        "NeuronCore": f"v{_core.compile_time_queries(name)['get_nc_version']}",
        "TFLOP/s 16-bit": peak_operations(facts) / 1e12,
        "SBUF MiB": _megabytes(facts, "limits.partitions", "limits.sbuf_partition"),
        "PSUM MiB": _megabytes(facts, "limits.partitions", "limits.psum_banks", "limits.psum_bank"),
        "HBM GiB per chip": facts["limits.hbm"]["value"] / 2**30,
        "HBM GB/s": hbm_bandwidth(facts) / 1e9,
        "DMA GB/s": dma_bandwidth(facts) / 1e9,
        "facts": len(facts),
        **{name: certainties[name] for name in sorted(certainties)},
    }


def _megabytes(facts: Facts, *keys: str) -> float:
    size = 1.0
    for key in keys:
        size *= facts[key]["value"]
    return size / 2**20


def shown(
    facts: Facts, patterns: Sequence[str], certainties: Sequence[str] | None
) -> list[dict[str, Any]]:
    """Rows of the facts that a pattern matches, of these certainties. ValueError for a pattern or a
    certainty that no fact has."""
    chosen: set[str] = set() if patterns else set(facts)
    for pattern in patterns:
        found = _core.fact_groups().get(pattern) or fnmatch.filter(facts, pattern)
        if not found:
            suggestion = did_you_mean(pattern, [*facts, *_core.fact_groups()])
            raise ValueError(f"no fact matches '{pattern}'{suggestion}.")
        chosen.update(found)
    known = sorted({fact["certainty"] for fact in facts.values()})
    for certainty in certainties or ():
        if certainty not in known:
            raise ValueError(f"no fact is '{certainty}'; there are {', '.join(known)}.")
    return [
        {"fact": key, **_fact(key, fact)}
        for key, fact in facts.items()
        if key in chosen and (certainties is None or fact["certainty"] in certainties)
    ]


def _fact(key: str, fact: Mapping[str, Any]) -> dict[str, Any]:
    names = ("unit", "certainty", "source")
    rest = {name: fact[name] for name in names if name in fact}
    return {"value": fact_value(key, fact["value"]), **rest}


def differences(first: Facts, second: Facts) -> list[dict[str, Any]]:
    """Rows of the facts whose values differ, with their ratio where both are numbers."""
    rows = []
    for key, fact in first.items():
        values = fact_value(key, fact["value"]), fact_value(key, second[key]["value"])
        if values[0] == values[1]:
            continue
        ratio = values[1] / values[0] if values[0] and not isinstance(values[0], bool) else None
        rows.append(
            {
                "fact": key,
                "A": values[0],
                "B": values[1],
                "unit": fact["unit"],
                "B / A": ratio,
                "certainty of B": second[key]["certainty"],
                "source of B": second[key]["source"],
            }
        )
    return rows
