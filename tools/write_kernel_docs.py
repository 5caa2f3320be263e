#!/usr/bin/env python3
"""Writes the table of simulated times into docs/kernels.md.

A section of the page is a kernel or variant, in words: what is timed, and why it takes the time it
takes. The table has a row for each. Usage: write_kernel_docs.py [--check]; --check writes nothing
and ends with 1 if the times are stale.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neuron_sim._core as core
from generated_page import write_or_check

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "kernels.md"
ARCHITECTURES = ["trn1", "trn2", "trn3"]
SECTION = re.compile(
    r"^### (?P<kernel>\w+): (?P<variant>[^\n]+)\n\n"
    r"Inputs (?P<shapes>[^;]+); (?P<dtype>\w+)\.(?: Options (?P<options>[^\n]+)\.)?\n",
    re.MULTILINE,
)
TABLE = re.compile(r"^\| kernel \|[^\n]*(?:\n\|[^\n]*)*", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """One line of the table: a section."""

    kernel: str
    """Its name in neuron_sim._core."""
    variant: str
    """What tells it from the kernel's other rows."""
    shapes: list[list[int]]
    dtype: str
    options: Mapping[str, int | str]


def row(section: re.Match[str]) -> Row:
    """What the heading and the line of inputs of a section say."""
    pairs = re.findall(r"`(\w+)=([^`]*)`", section["options"] or "")
    shapes = json.loads(f"[{section['shapes']}]")
    return Row(section["kernel"], section["variant"], shapes, section["dtype"], dict(pairs))


def rows(page: str) -> list[Row]:
    """All of them, in the order of the page."""
    return [row(section) for section in SECTION.finditer(page)]


def roofline_us(timing: dict[str, Any], dtype: str, architecture: str) -> float:
    """Least time for the kernel's bytes and multiplications, in microseconds."""
    facts = {key: fact["value"] for key, fact in core.architecture_facts(architecture).items()}
    bandwidth = facts["dma.engines"] * facts["dma.bytes_per_nanosecond"] * 1e3
    passes = facts["tensor.passes_fp32"] if dtype == "float32" else 1
    cells = facts["limits.partitions"] * facts["limits.stationary_free"]
    multiplications = cells * facts["clocks.tensor"] * 1e3 / passes
    return max(
        timing["argument_bytes"] / bandwidth, timing["multiply_accumulates"] / multiplications
    )


class Timed:
    """A row with its timings by architecture."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.timings = {
            architecture: core.time_kernel(
                row.kernel, row.shapes, row.dtype, architecture, dict(row.options)
            )
            for architecture in ARCHITECTURES
        }
        self.peaks = {
            architecture: roofline_us(timing, row.dtype, architecture) / timing["body_us"]
            for architecture, timing in self.timings.items()
        }

    def each(self, text: Any) -> str:
        """text(timing, peak) of every architecture, with bars between them."""
        return " | ".join(text(self.timings[name], self.peaks[name]) for name in ARCHITECTURES)


def table(timed: list[Timed]) -> list[str]:
    """One line per row."""
    lines = [
        f"| kernel | variant | {' | '.join(f'{a} us' for a in ARCHITECTURES)} | "
        f"{' | '.join(f'{a} bottleneck' for a in ARCHITECTURES)} | "
        f"{' | '.join(f'{a} peak' for a in ARCHITECTURES)} | DMAs |",
        "|---|---|" + "---:|" * 3 + "---|" * 3 + "---:|" * 4,
    ]
    for each in timed:
        lines.append(
            f"| {each.row.kernel} | {each.row.variant} | "
            f"{each.each(lambda timing, _: format(timing['body_us'], ',.2f'))} | "
            f"{each.each(lambda timing, _: timing['bottleneck'])} | "
            f"{each.each(lambda _, peak: format(peak, '.1%'))} | "
            f"{each.timings['trn2']['dma_transfers']:,} |"
        )
    return lines


def page() -> str:
    """The page as it is written, with the times of today."""
    written = PAGE.read_text(encoding="utf-8")
    timed = [Timed(each) for each in rows(written)]
    missing = set(core.kernels()) - {each.row.kernel for each in timed}
    if missing:
        raise SystemExit(f"{PAGE.name} has no section for {', '.join(sorted(missing))}")
    return TABLE.sub("\n".join(table(timed)), written, count=1)


if __name__ == "__main__":
    raise SystemExit(write_or_check(PAGE, page()))
