"""The part of docs/performance.md on other simulators, from docs/peers.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STORED = Path(__file__).resolve().parents[1] / "docs" / "peers.json"

NAMES = {"scalesim": "SCALE-Sim", "jax": "JAX"}


def load_peers() -> dict[str, Any]:
    """docs/peers.json."""
    stored: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return stored


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _per_operation(row: dict[str, Any]) -> str:
    """Picoseconds of the processor for each multiply-accumulate of a later run, else the first."""
    spent = row["first"] if row["again"] is None else row["again"]
    if spent is None:
        return "-"
    picoseconds = spent / row["multiply_accumulates"] * 1e12
    return f"{picoseconds:,.0f}" if picoseconds >= 100 else f"{picoseconds:.2g}"


def _found(row: dict[str, Any]) -> str:
    """What it says of the problem."""
    if row["note"]:
        return f"not measured: {row['note']}"
    texts = {
        "us": "{:,.1f} us simulated",
        "cycles": "{:,} cycles",
        "error": "largest error {:.1g}",
    }
    return "; ".join(texts[name].format(value) for name, value in row["found"].items())


def figures(stored: dict[str, Any]) -> dict[str, str]:
    """What the page's template says of the other simulators: host, rows, what each computes."""
    versions = [
        f"{NAMES.get(package, package)} {version}" if version else f"no {NAMES[package]}"
        for package, version in stored["versions"].items()
    ]
    rows = []
    for row in stored["rows"]:
        cells = [row["problem"], row["simulator"], _seconds(row["first"]), _seconds(row["again"])]
        rows.append(f"| {' | '.join([*cells, _per_operation(row), _found(row)])} |")
    return {
        "peer_host": f"{stored['date']}: {stored['processor']}, Python {stored['python']}, "
        f"{', '.join(versions)}; load average {stored['load']}",
        "peer_rows": "\n".join(rows),
        "peer_computes": "\n".join(f"- {name}: {it}." for name, it in stored["computes"].items()),
    }
