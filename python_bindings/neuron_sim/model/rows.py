"""Simulated figures of one request as a JSON object, by names that carry their units."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch

from neuron_sim.model.decoder_shape import DecoderShape
from neuron_sim.model.estimate import Setting, estimate
from neuron_sim.model.generation import GenerationRequest, generate
from neuron_sim.model.workload import Request, load
from neuron_sim.terminal.exit_codes import failures_of


def inference(request: Request, setting: Setting, by_layer: bool = False) -> dict[str, Any]:
    """A request and its figures on one core; `layers` is layers.rows(), or None. Errors as of
    load(); ProgramError when the model fails or does what the device refuses."""
    workload = load(request)
    with failures_of(request.model):
        found = estimate(workload, setting, by_layer)
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


def generation(model: str, shape: DecoderShape, request: GenerationRequest) -> dict[str, Any]:
    """A request and the figures of one group of cores. ProgramError when the device refuses."""
    with failures_of(model):
        found = generate(shape, request)
    asked = asdict(request)
    del asked["by_layer"]  # it shows in `layers`
    return {
        "model": model,
        "architecture": torch.neuron_sim.get_device_properties().architecture,
        **asked,
        "ttft_ms": found.prefill.latency_ms,
        "tpot_ms": found.decode.latency_ms,
        "tokens_per_second": request.batch * 1e3 / found.decode.latency_ms,
        "tokens_per_second_core": request.batch * 1e3 / found.decode.latency_ms / request.cores,
        "hbm_bytes": found.hbm_bytes,
        "hbm_capacity_share": found.hbm_capacity_share,
        **{
            name: {**asdict(phase), "bound": phase.bound}
            for name, phase in (("prefill", found.prefill), ("decode", found.decode))
        },
    }
