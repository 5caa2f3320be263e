"""Simulated figures of one request as a JSON object, by names that carry their units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch

from neuron_sim.files import write_whole
from neuron_sim.model.estimate import Setting, estimate
from neuron_sim.model.generation import GenerationRequest, generate
from neuron_sim.model.workload import Request, load
from neuron_sim.terminal.exit_codes import failures_of
from neuron_sim.timeline.page import recorded_page
from neuron_sim.timeline.spans import Span, spans_run

if TYPE_CHECKING:
    from neuron_sim.model.causal_model import CausalLanguageModel


def inference(
    request: Request, setting: Setting, by_layer: bool = False, timeline: str | None = None
) -> dict[str, Any]:
    """A request and its figures on one core; `layers` is layers.rows(), or None; `timeline`: the
    file of a page of its operators. Errors as of load(); ProgramError when the model fails or does
    what the device refuses."""
    workload = load(request)
    spans: list[Span] | None = None if timeline is None else []
    with failures_of(request.model):
        found = estimate(workload, setting, by_layer, spans)
    _write(timeline, f"{request.model}, batch {request.batch}", spans)
    return {
        "model": request.model,
        "architecture": torch.neuron_sim.get_device_properties().architecture,
        **asdict(setting),
        "batch": request.batch,
        "latency_ms": found.latency_ms,
        "body_ms": found.body_ms,
        "per_second": 1e3 * request.batch / found.latency_ms,
        "launches": found.launches,
        "moved_mb": found.moved_mb,
        "utilisation": found.utilisation,
        "hbm_share": found.hbm_share,
        "bound": found.bound,
        "busy": found.busy,
        "layers": found.layers,
    }


def generation(
    name: str, model: CausalLanguageModel, request: GenerationRequest, timeline: str | None = None
) -> dict[str, Any]:
    """A request and the figures of one group of cores; `timeline`: the file of a page of one token.
    ProgramError when the device refuses."""
    spans: list[Span] | None = None if timeline is None else []
    with failures_of(name):
        found = generate(model, request, spans)
    title = f"{name}, one token of batch {request.batch}, one of {request.cores} cores"
    _write(timeline, title, spans)
    asked = asdict(request)
    del asked["by_layer"]  # it shows in `layers`
    del asked["copies_keys"]  # no option: of published rows
    return {
        "model": name,
        "architecture": torch.neuron_sim.get_device_properties().architecture,
        **asked,
        "ttft_ms": found.prefill.latency_ms,
        "tpot_ms": found.decode.latency_ms,
        "tokens_per_second": request.batch * 1e3 / found.decode.latency_ms,
        "tokens_per_second_core": request.batch * 1e3 / found.decode.latency_ms / request.cores,
        "hbm_bytes": found.hbm_bytes,
        "hbm_capacity_share": found.hbm_capacity_share,
        **{
            kind: {**asdict(phase), "bound": phase.bound}
            for kind, phase in (("prefill", found.prefill), ("decode", found.decode))
        },
    }


def _write(timeline: str | None, title: str, spans: Sequence[Span] | None) -> None:
    if timeline is not None and spans is not None:
        architecture = torch.neuron_sim.get_device_properties().architecture
        write_whole(timeline, recorded_page(spans_run(title, architecture, spans)))
