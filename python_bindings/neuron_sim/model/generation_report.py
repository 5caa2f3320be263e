"""Generations as rows, and rows as a text table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch

from neuron_sim.model.decoder_shape import DecoderShape
from neuron_sim.model.generation import GenerationRequest, generate
from neuron_sim.model.instances import instance
from neuron_sim.model.report import aligned


def row(
    model: str, shape: DecoderShape, request: GenerationRequest, on: str | None
) -> dict[str, Any]:
    """A request and its simulated figures, by names that carry their units. `on`: an instance, of
    which `tokens_per_second` counts all groups; None: of one group. ValueError for an instance that
    does not exist or has too few cores."""
    groups = 1 if on is None else instance(on).groups(request.ranks)
    found = generate(shape, request)
    properties = torch.neuron_sim.get_device_properties()
    return {
        "model": model,
        "architecture": properties.architecture,
        "instance": on,
        **asdict(request),
        "ttft_ms": found.prefill.latency_ms,
        "tpot_ms": found.decode.latency_ms,
        "tokens_per_second": groups * request.batch * 1e3 / found.decode.latency_ms,
        "hbm_bytes": found.hbm_bytes,
        "hbm_capacity_share": found.hbm_bytes / properties.total_memory,
        **{
            name: {**asdict(phase), "bound": phase.bound}
            for name, phase in (("prefill", found.prefill), ("decode", found.decode))
        },
    }


def as_text(rows: Sequence[dict[str, Any]]) -> str:
    """A heading and a line per row; times are simulated."""
    first = rows[0]
    place = first["instance"] or first["architecture"]
    lines = [
        f"{first['model']}, {first['dtype']}, {first['ranks']} cores of {place}, "
        f"context {first['context']}, prompts of {first['input']} tokens"
    ]
    cells = [("batch", "TTFT ms", "TPOT ms", "tokens/s", "HBM GB", "MFU", "HBM", "bound by")]
    for each in rows:
        decode = each["decode"]
        cells.append(
            (
                str(each["batch"]),
                f"{each['ttft_ms']:.2f}",
                f"{each['tpot_ms']:.3f}",
                f"{each['tokens_per_second']:,.0f}",
                f"{each['hbm_bytes'] / 1e9:.2f}",
                f"{decode['utilisation']:.1%}",
                f"{decode['hbm_share']:.1%}",
                f"{decode['bound']} (prompt: {each['prefill']['bound']})",
            )
        )
    return "\n".join([*lines, *aligned(cells)])
