"""How much time a resource twice as fast would save: the same program, timed anew."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuron_sim import _core
from neuron_sim.timeline.peaks import Facts


@dataclass(frozen=True)
class WhatIf:
    """The run with one resource twice as fast."""

    resource: str
    body_us: float
    saved: float
    """Share of the body's time, 0 to 1; below 0 where faster parts get into each other's way."""


_GROUPS = {
    "Tensor engine": "tensor.clock",
    "Vector engine": "vector.clock",
    "Scalar engine": "scalar.clock",
    "GpSimd engine": "gpsimd.clock",
    "HBM bandwidth": "hbm.bandwidth",
    "DMA engines": "dma.bandwidth",
}
RATES = {resource: tuple(_core.fact_groups()[group]) for resource, group in _GROUPS.items()}
"""Facts that a resource twice as fast doubles."""

TIMES = {
    "DMA engines": ("dma.packet", "dma.small_row_packet", "dma.element_scatter"),
    "DMA latency": (
        "dma.hardware_first_", "dma.software_first_", "dma.static_first_", "dma.complete_",
        "dma.load_stall", "dma.engine_skew",
    ),
    "DMA descriptors and triggers": (
        "dma.hardware_trigger", "dma.software_trigger", "dma.static_trigger",
    ),
    "semaphores": ("semaphore.",),
}  # fmt: skip
"""Facts, by how they begin, that it halves."""


def resources() -> list[str]:
    """Names of the resources, each once."""
    return list(dict.fromkeys([*RATES, *TIMES]))


def scaled(facts: Facts, resource: str) -> dict[str, Any]:
    """The facts that differ when the resource is twice as fast, with their new values."""
    rates, times = RATES.get(resource, ()), TIMES.get(resource, ())
    changed: dict[str, Any] = {key: facts[key]["value"] * 2 for key in rates}
    for key, fact in facts.items():
        if key.startswith(times):
            changed[key] = fact["value"] / 2
    return changed


def overlay(program: Any, changes: Mapping[str, Any]) -> str:
    """An architecture file: all facts of the program's architecture, with these changed."""
    facts = program.facts
    lines = [
        f'base = "{_core.architectures()[0]}"',  # of which nothing is left but what is no fact
        f'name = "{program.architecture}"',
        f"generation = {program.generation}",
    ]
    for key, fact in facts.items():
        value = changes.get(key, fact["value"])
        lines.append(
            f"{key} = {{ value = {_value(key, value)}, unit = {_quoted(fact['unit'])}, "
            f"source = {_quoted(fact['source'])}, certainty = {_quoted(fact['certainty'])} }}"
        )
    return "\n".join(lines) + "\n"


def what_if(program: Any, log: Sequence[int] = ()) -> list[WhatIf]:
    """The program with each resource twice as fast, the most useful one first."""
    body = program.time(log=list(log))["body_us"]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for resource in resources():
            path = os.path.join(folder, "faster.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(overlay(program, scaled(program.facts, resource)))
            faster = program.time(architecture=path, log=list(log))["body_us"]
            results.append(WhatIf(resource, faster, 1 - faster / body if body else 0.0))
    return sorted(results, key=lambda each: -each.saved)


def _value(key: str, value: float) -> str:
    if key.startswith("features."):
        return "true" if value else "false"
    return str(int(value)) if value == int(value) else repr(value)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
