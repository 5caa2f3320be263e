"""Times of generation that the vendor published, beside simulated ones."""

from __future__ import annotations

import functools
import json
import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

from neuron_sim.fidelity.published_models.inference import Comparison
from neuron_sim.model.generation import Generation, GenerationRequest, generate
from neuron_sim.model.instances import instance
from neuron_sim.model.options import choose_architecture
from neuron_sim.model.workload import language_model

_PUBLISHED = Path(__file__).with_name("generation.json")


def published_generation() -> list[dict[str, Any]]:
    """The rows: time to first token (of a batch of prompts) and per output token, at the client.
    `weights` is GenerationRequest.weight_dtype, or "bf16"."""
    return json.loads(_PUBLISHED.read_text())


def compare(model: str | None = None, everywhere: bool = False) -> list[Comparison]:
    """Simulates the published rows, or those of one model; two comparisons a row. Each is of the
    architecture of its instance; `everywhere`: all are of the device of this process. Rows whose
    compilation does not fit HBM are left out with a warning: it keeps all values of a prompt."""
    name = None if model is None else model.rsplit("/", 1)[-1].lower()
    found = []
    for row in published_generation():
        if name in (None, row["model"]):
            try:
                found += _compare(row, everywhere)
            except torch.OutOfMemoryError:
                warnings.warn(f"{_setting(row)} of {row['model']} does not fit HBM", stacklevel=2)
    return found


def simulated(model: str, request: GenerationRequest, where: str, everywhere: bool) -> Generation:
    """A request on the architecture of the instance `where`; `everywhere`: on the device of this
    process."""
    architecture = _architecture() if everywhere else instance(where).architecture
    return _simulated(model, request, architecture)


@functools.cache
def _simulated(model: str, request: GenerationRequest, architecture: str) -> Generation:
    if architecture == _architecture():
        return _generate(model, request)
    return _process(architecture).submit(_generate, model, request).result()


def _generate(model: str, request: GenerationRequest) -> Generation:
    return generate(language_model(model), request)


def _architecture() -> str:
    """That of the device of this process: a process has one."""
    return str(torch.neuron_sim.get_device_properties().architecture)


@functools.cache
def _process(architecture: str) -> ProcessPoolExecutor:
    """A process whose device has that architecture; it ends with this one."""
    return ProcessPoolExecutor(
        1,
        mp_context=multiprocessing.get_context("spawn"),  # a fork cannot use the device
        initializer=choose_architecture,
        initargs=(architecture,),
    )


def _setting(row: dict[str, Any]) -> str:
    return f"tp {row['ranks']}, {row['input']} of {row['context']} tokens"


def _compare(row: dict[str, Any], everywhere: bool) -> list[Comparison]:
    request = GenerationRequest(
        ranks=row["ranks"],
        batch=row["batch"],
        context=row["context"],
        input=row["input"],
        weight_dtype=None if row["weights"] == "bf16" else row["weights"],
        copies_keys=True,  # SDK 2.18 measured all rows
    )
    found = simulated(row["model"], request, row["instance"], everywhere)
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
