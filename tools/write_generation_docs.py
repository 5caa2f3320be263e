#!/usr/bin/env python3
"""Writes docs/generation.md: simulated times of generated text beside published ones.

Usage: write_generation_docs.py [--check | --report FILE]

The page shows docs/generation.json. --report stores there the rows of generation of what
`neuron-sim model --published --output` writes, first; --check writes nothing and ends with 1 if the
page is stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from generated_page import fill, stored_rows, write_published
from neuron_sim.fidelity.published_models.generation import published_generation
from neuron_sim.fidelity.published_models.host_overhead import added, fitted, left_out
from neuron_sim.fidelity.published_models.inference import (
    Comparison,
    mean_absolute_error,
    rank_correlation,
)
from neuron_sim.fidelity.published_models.trends import trends

PAGE = Path(__file__).resolve().parents[1] / "docs" / "generation.md"


def _times(row: Comparison) -> str:
    return f"{row.measured_ms:.2f} | {row.simulated_ms:.2f} | {row.error:+.0%} | {row.bound}"


def _largest(rows: Sequence[Comparison]) -> str:
    return f"{max(abs(row.error) for row in rows):.0%}"


def _summary(rows: Sequence[Comparison]) -> str:
    return (
        f"{len(rows)} rows, mean absolute error {mean_absolute_error(rows):.1%}, largest "
        f"{_largest(rows)}, rank correlation {rank_correlation(rows):.2f}."
    )


def _bytes_summary(rows: Sequence[Comparison]) -> str:
    """How many programs move the published bytes."""
    close = sum(abs(row.error_of_bytes) <= 0.05 for row in rows)
    return f"{_summary(rows)[:-1]}; {close} of them within 5% of the bytes."


def _program(prompt: Comparison, token: Comparison) -> str:
    """A line of the table of programs."""
    cells = [prompt.model, prompt.setting]
    for row in (prompt, token):
        cells += [
            f"{row.measured_mb:.0f} | {row.simulated_mb:.0f} | {row.error_of_bytes:+.0%}",
            f"{row.measured_ms:.2f} | {row.simulated_ms:.2f} | {row.error:+.0%}",
        ]
    return f"| {' | '.join(cells)} |"


def _trends(rows: Sequence[Comparison]) -> str:
    """How many pairs of rows that differ in one size go as measured."""
    verdicts = [trend.verdict for trend in trends(rows)]
    kinds = ("as measured", "unchanged", "contrary")
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in kinds)
    return f"{len(verdicts)} pairs, {counts}."


def page() -> str:
    """The page for the stored rows."""
    rows = stored_rows(PAGE.with_suffix(".json"))
    first, later, prompts, tokens = (
        [row for row in rows if row.figure == kind] for kind in ("TTFT", "TPOT", "prompt", "token")
    )
    lines = [
        f"| {row.model} | {row.instance} | {source['weights']} | {row.batch} | {row.context} | "
        f"{row.input} | {_times(row)} | {_times(token)} |"
        for row, token, source in zip(first, later, published_generation(), strict=True)
    ]
    constants = fitted(first)
    hosted = added(first, constants)
    figures = {
        "rows": "\n".join(lines),
        "first_summary": _summary(first),
        "later_summary": _summary(later),
        "trends": _trends(rows),
        "programs": "\n".join(map(_program, prompts, tokens)),
        "prompt_summary": _bytes_summary(prompts),
        "token_summary": _bytes_summary(tokens),
        "host_constants": ", ".join(f"{name} {ms:.1f} ms" for name, ms in constants.items()),
        "host_error": f"{mean_absolute_error(hosted):.1%}",
        "host_largest": _largest(hosted),
        "host_correlation": f"{rank_correlation(hosted):.2f}",
        "host_left_out": f"{mean_absolute_error(left_out(first)):.1%}",
    }
    return fill(PAGE.name, figures)


if __name__ == "__main__":
    raise SystemExit(write_published(__doc__ or "", PAGE, page, lambda figure: figure != "latency"))
