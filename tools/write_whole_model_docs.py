#!/usr/bin/env python3
"""Writes docs/whole_models.md: simulated times of whole models beside published ones.

Usage: write_whole_model_docs.py [--check | --report FILE]

The page shows docs/whole_models.json. --report stores there the latencies of what `neuron-sim model
--published --output` writes, first; --check writes nothing and ends with 1 if the page is stale.
"""

from __future__ import annotations

from pathlib import Path

from generated_page import fill, stored_rows, write_published
from neuron_sim.fidelity.published_models.host_overhead import added, fitted, left_out
from neuron_sim.fidelity.published_models.inference import (
    mean_absolute_error,
    published,
    rank_correlation,
)
from neuron_sim.model.instances import instance

PAGE = Path(__file__).resolve().parents[1] / "docs" / "whole_models.md"


def page() -> str:
    """The page for the stored rows."""
    rows = stored_rows(PAGE.with_suffix(".json"))
    constants = fitted(rows)
    hosted = added(rows, constants)
    lines = []
    for row, with_host, source in zip(rows, hosted, published(), strict=True):
        flight = source["in_flight"] / instance(row.instance).cores
        waits = row.waits_for_host
        host = f"{with_host.simulated_ms:.2f} | {with_host.error:+.0%}" if waits else "- | -"
        copies = f"{row.copies_ms:.3f}" if waits else "-"
        lines.append(
            f"| {row.model} | {row.batch} | {row.instance} | {source['sdk']} | "
            f"{row.measured_ms:.3f} | {row.simulated_ms - row.copies_ms:.3f} | {copies} | "
            f"{row.error:+.0%} | {row.bound} | {flight:g} | {host} |"
        )
    figures = {
        "rows": "\n".join(lines),
        "count": len(rows),
        "error": f"{mean_absolute_error(rows):.1%}",
        "largest": f"{max(abs(row.error) for row in rows):.0%}",
        "correlation": f"{rank_correlation(rows):.2f}",
        "constants": ", ".join(f"{name} {ms:.2f} ms" for name, ms in constants.items()),
        "host_error": f"{mean_absolute_error(hosted):.0%}",
        "host_largest": f"{max(abs(row.error) for row in hosted):.0%}",
        "host_correlation": f"{rank_correlation(hosted):.2f}",
        "host_left_out": f"{mean_absolute_error(left_out(rows)):.0%}",
    }
    return fill(PAGE.name, figures)


if __name__ == "__main__":
    raise SystemExit(write_published(__doc__ or "", PAGE, page, lambda figure: figure == "latency"))
