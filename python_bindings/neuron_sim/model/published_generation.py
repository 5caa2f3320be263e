"""Times of generation that the vendor published, beside simulated ones."""

from __future__ import annotations

import functools
import json
import warnings
from pathlib import Path
from typing import Any

import torch

from neuron_sim.model.generation import Generation, GenerationRequest, generate
from neuron_sim.model.published import Comparison
from neuron_sim.model.workload import decoder_shape

_PUBLISHED = Path(__file__).with_name("published_generation.json")


def published_generation() -> list[dict[str, Any]]:
    """The rows: time to first token (of a batch of prompts) and per output token, at the client.
    `weights` is GenerationRequest.weight_dtype, or "bf16"."""
    return json.loads(_PUBLISHED.read_text())


def compare(model: str | None = None) -> list[Comparison]:
    """Simulates the published rows, or those of one model; two comparisons a row. Rows whose
    compilation does not fit HBM are left out with a warning: it keeps all values of a prompt."""
    name = None if model is None else model.rsplit("/", 1)[-1].lower()
    found = []
    for row in published_generation():
        if name in (None, row["model"]):
            try:
                found += _compare(row)
            except torch.OutOfMemoryError:
                warnings.warn(f"{_setting(row)} of {row['model']} does not fit HBM", stacklevel=2)
    return found


@functools.cache
def _simulated(model: str, request: GenerationRequest) -> Generation:
    return generate(decoder_shape(model), request)


def _setting(row: dict[str, Any]) -> str:
    return f"tp {row['ranks']}, {row['input']} of {row['context']} tokens"


def _compare(row: dict[str, Any]) -> list[Comparison]:
    request = GenerationRequest(
        ranks=row["ranks"],
        batch=row["batch"],
        context=row["context"],
        input=row["input"],
        weight_dtype=None if row["weights"] == "bf16" else row["weights"],
    )
    found = _simulated(row["model"], request)
    return [
        Comparison(
            row["model"],
            row["instance"],
            row["batch"],
            row[f"{figure.lower()}_ms"],
            phase.latency_ms,
            phase.bound,
            figure,
            _setting(row),
            row["context"],
            row["input"],
            # The next token's program is launched while the one before it runs.
            waits_for_host=figure == "TTFT",
        )
        for figure, phase in (("TTFT", found.prefill), ("TPOT", found.decode))
    ]
