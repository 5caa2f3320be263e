"""Estimates of a model as rows, and rows as a text table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch

from neuron_sim.model.estimate import Setting, estimate
from neuron_sim.model.workload import Request, load


def row(request: Request, setting: Setting) -> dict[str, Any]:
    """The sizes of a request and its simulated figures, by names that carry their units."""
    found = estimate(load(request), setting)
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
    }


def as_text(rows: Sequence[dict[str, Any]]) -> str:
    """A heading and a line per row; times are simulated."""
    first = rows[0]
    how = "torch.compile" if first["compiled"] else "eager"
    dtype = first["dtype"]
    if first["auto_cast"] != "none":
        dtype += f" with --auto-cast {first['auto_cast']}"
    lines = [f"{first['model']}, {dtype}, one core of {first['architecture']}, {how}"]
    heading = (
        "batch",
        "latency ms",
        "per second",
        "launches",
        "MB moved",
        "MFU",
        "HBM",
        "bound by",
    )
    cells = [
        (
            str(each["batch"]),
            f"{each['latency_ms']:.3f}",
            f"{each['per_second']:,.0f}",
            f"{each['launches']:,}",
            f"{each['moved_mb']:,.1f}",
            "-" if each["utilisation"] is None else f"{each['utilisation']:.1%}",
            f"{each['hbm_share']:.1%}",
            each["bound"],
        )
        for each in rows
    ]
    return "\n".join([*lines, *aligned([heading, *cells])])


def aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells, each column as wide as its widest cell, right-aligned but for the last."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line[:-1], widths, strict=False))
        + "  "
        + line[-1]
        for line in cells
    ]
