#!/usr/bin/env python3
"""Writes docs/profile_fields.md: which fields of the vendor's profile schema have values here.

Usage: write_profile_docs.py [--check]; --check writes nothing and ends with 1 if the page is
stale.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from generated_page import fill, write_or_check
from neuron_sim import _core
from neuron_sim.nki.measurement.recorded import profile_of
from neuron_sim.nki.measurement.tables import SCHEMA, tables_of
from neuron_sim.nki.measurement.tables.run_profile import RunProfile
from neuron_sim.nki.measurement.tables.schema import SOURCE, VERSION
from neuron_sim.nki.measurement.tables.summary import LEFT_OUT, summary_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "profile_fields.md"


def example() -> RunProfile:
    """The profile of a load, a product, a copy and a store; which columns have values does not
    depend on the program."""
    builder = _core.Builder("example", "trn2")
    x = builder.argument("x", [128, 128], "bfloat16")
    z = builder.argument("z", [128, 128])
    tile, result = builder.sbuf("tile", [128, 128], "bfloat16"), builder.sbuf("result", [128, 128])
    total = builder.psum("total", [128, 128])
    builder.dma_copy(tile, x)
    builder.nc_matmul(total, tile, tile)
    builder.tensor_copy(result, total)
    builder.dma_copy(z, result)
    program = builder.finish()
    return profile_of(SimpleNamespace(program=program, time=program.time))


def names(fields: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in fields) or "none"


def page() -> str:
    """The page for the tables as they are."""
    profile = example()
    rows = []
    for table, columns in tables_of(profile).items():
        fields = [field.name for field in SCHEMA[table]]
        null = [name for name in fields if name not in columns]
        present = len(columns) if table == "Summary" else len(fields) - len(null)
        missing = "see below" if table == "Summary" else names(null)
        rows.append(f"| `{table}` | {present} of {len(fields)} | {missing} |")
    summary = summary_of(profile)
    metrics = [field.name for field in SCHEMA["Summary"]]
    figures = {
        "version": VERSION,
        "source": SOURCE,
        "tables": "\n".join(rows),
        "present": sum(name in summary for name in metrics),
        "metrics": len(metrics),
        "left_out": "\n".join(f"| `{name}` | {why} |" for name, why in LEFT_OUT.items()),
        "others": names([name for name in summary if name not in metrics]),
    }
    return fill(PAGE.name, figures)


if __name__ == "__main__":
    raise SystemExit(write_or_check(PAGE, page()))
