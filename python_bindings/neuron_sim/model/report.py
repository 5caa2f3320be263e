"""Rows of figures as text. Times are simulated. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuron_sim.timeline.interval import KINDS, interval

_LAYER_HEADING = ("layer", "ms", "share", "MB", "GFLOP", "MFU", "most on")


def as_text(rows: Sequence[dict[str, Any]]) -> str:
    """A heading and a line per row of inference on one core, then the layers of each."""
    first = rows[0]
    how = "torch.compile" if first["compiled"] else "eager"
    dtype = first["dtype"]
    if first["auto_cast"] != "none":
        dtype += f" with --auto-cast {first['auto_cast']}"
    cells = [
        ("batch", "latency ms", "on a chip", "per second", "launches", "MB moved", "MFU", "HBM")
    ]
    cells += [
        (
            str(each["batch"]),
            f"{each['latency_ms']:.3f}",
            "{:.3f} to {:.3f}".format(*interval(KINDS[each["bound"]]).around(each["latency_ms"])),
            f"{each['per_second']:,.0f}",
            f"{each['launches']:,}",
            f"{each['moved_mb']:,.1f}",
            _percent(each["utilisation"]),
            _percent(each["hbm_share"]),
        )
        for each in rows
    ]
    table = _with_instance(cells, rows, "per_second_instance", "dollars_per_million")
    bounds = ["bound by", *(each["bound"] for each in rows)]
    lines = [f"{first['model']}, {dtype}, one core of {first['architecture']}, {how}"]
    lines += aligned([(*line, bound) for line, bound in zip(table, bounds, strict=True)])
    for each in rows:
        if each["layers"] is not None:
            overhead = each["latency_ms"] - each["body_ms"]
            lines += _layers(f"batch {each['batch']}", each["layers"], overhead)
    return "\n".join(lines)


def generations_as_text(rows: Sequence[dict[str, Any]]) -> str:
    """A heading and a line per row of generation, then the layers of each."""
    first = rows[0]
    place = first.get("instance") or first["architecture"]
    dtype = first["dtype"]
    if first["weight_dtype"] is not None:
        dtype += f" with {first['weight_dtype']} weights"
    cells = [
        ("cores", "batch", "TTFT ms", "TPOT ms", "tokens/s", "per core", "HBM GB", "MFU", "HBM")
    ]
    cells += [
        (
            str(each["ranks"]),
            str(each["batch"]),
            f"{each['ttft_ms']:.2f}",
            f"{each['tpot_ms']:.3f}",
            f"{each['tokens_per_second']:,.0f}",
            f"{each['tokens_per_second_core']:,.1f}",
            f"{each['hbm_bytes'] / 1e9:.2f}",
            _percent(each["decode"]["utilisation"]),
            _percent(each["decode"]["hbm_share"]),
        )
        for each in rows
    ]
    table = _with_instance(cells, rows, "tokens_per_second_instance", "dollars_per_million_tokens")
    bounds = ["bound by", *(_bound_of_phases(each) for each in rows)]
    if first["logical_core"] > 1:
        place += f", each of {first['logical_core']} physical ones"
    lines = [
        f"{first['model']}, {dtype}, cores of {place}, context {first['context']}, "
        f"prompts of {first['input']} tokens"
    ]
    lines += aligned([(*line, bound) for line, bound in zip(table, bounds, strict=True)])
    for each in rows:
        for name, title in (("prefill", "prompts"), ("decode", "one token")):
            phase = each[name]
            if phase["layers"] is not None:
                overhead = phase["latency_ms"] - phase["body_ms"]
                shared = f"{each['ranks']} cores, batch {each['batch']}, {title}"
                lines += _layers(shared, phase["layers"], overhead)
    return "\n".join(lines)


def _bound_of_phases(row: dict[str, Any]) -> str:
    return f"{row['decode']['bound']} (prompt: {row['prefill']['bound']})"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _with_instance(
    cells: Sequence[tuple[str, ...]], rows: Sequence[dict[str, Any]], rate: str, price: str
) -> list[tuple[str, ...]]:
    """With columns of the figures of an instance, where the rows have them."""
    table = list(cells)
    for name, heading, digits in ((rate, "instance/s", 0), (price, "$ per million", 3)):
        if rows[0].get(name) is not None:
            column = [heading, *(f"{each[name]:,.{digits}f}" for each in rows)]
            table = [(*line, cell) for line, cell in zip(table, column, strict=True)]
    return table


def _layers(title: str, layers: Sequence[dict[str, Any]], overhead_ms: float) -> list[str]:
    cells = [
        (
            each["layer"] or "(the model itself)",
            f"{each['time_ms']:.4f}",
            _percent(each["share"]),
            f"{each['moved_mb']:,.2f}",
            f"{each['gflop']:,.3f}",
            _percent(each["utilisation"]),
            each["bound"],
        )
        for each in sorted(layers, key=lambda layer: -layer["time_ms"])
    ]
    return [
        "",
        f"{title}; launches take {overhead_ms:.4f} ms more",
        *aligned([_LAYER_HEADING, *cells]),
    ]


def aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells, each column as wide as its widest cell, right-aligned but for the last."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line[:-1], widths, strict=False))
        + "  "
        + line[-1]
        for line in cells
    ]
