"""Prompt and token programs that the vendor's profiler measured, beside simulated ones."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from neuron_sim.fidelity.published_models.generation import simulated
from neuron_sim.fidelity.published_models.inference import Comparison
from neuron_sim.model.generation import GenerationRequest

_PUBLISHED = Path(__file__).with_name("programs.json")


def published_programs() -> list[dict[str, Any]]:
    """The rows: time of the device without the host, and megabytes of HBM read and written, for a
    prompt that fills the context and for one token. The times are derived from a share of HBM's
    bandwidth of two digits."""
    return json.loads(_PUBLISHED.read_text())


def compare(model: str | None = None, everywhere: bool = False) -> list[Comparison]:
    """Simulates the published rows, or those of one model, as generation.compare(); two comparisons
    a row. Models of which no program can be made are left out with a warning."""
    name = None if model is None else model.rsplit("/", 1)[-1].lower()
    compared = []
    for row in published_programs():
        if name in (None, row["model"]):
            try:
                compared += _compare(row, everywhere)
            except ValueError as error:
                warnings.warn(str(error), stacklevel=2)
    return compared


def _compare(row: dict[str, Any], everywhere: bool) -> list[Comparison]:
    context = row["context"]
    request = GenerationRequest(row["ranks"], row["batch"], context, input=context)
    times = simulated(row["model"], request, row["instance"], everywhere)
    return [
        Comparison(
            row["model"],
            row["instance"],
            row["batch"],
            row[f"{figure}_ms"],
            phase.latency_ms,
            phase.bound,
            figure,
            f"tp {row['ranks']}, {context} tokens",
            context,
            context,
            measured_mb=row[f"{figure}_mb"],
            simulated_mb=phase.moved_mb,
        )
        for figure, phase in (("prompt", times.prefill), ("token", times.decode))
    ]
