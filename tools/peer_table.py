"""The part of docs/performance.md on other simulators, from docs/peers.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STORED = Path(__file__).resolve().parents[1] / "docs" / "peers.json"

HEAD = """
## Beside other simulators

The same problem in other simulators that PyPI has, in fp32 where they have dtypes, each in a
separate process on **one thread**, after a smaller problem that is not counted. Measured on
{date}: {processor}, Python {python}, {versions};
load average {load}. Times are processor time, imports excluded: of the first run, which builds or
compiles what later ones use again, and the least of the later ones. The next column divides the
latter, else the first, by the multiply-accumulates. They compare **unlike work**: none of the
others computes both values and time.

```
make bench-peers  # installs the others into build/peers, measures all, writes this table
```

"""

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


def section(stored: dict[str, Any]) -> list[str]:
    """Lines of the part: a table per problem, then what each simulator computes."""
    versions = ", ".join(
        f"{NAMES.get(package, package)} {version}" if version else f"no {NAMES[package]}"
        for package, version in stored["versions"].items()
    )
    named = {name: stored[name] for name in ("date", "processor", "python", "load")}
    lines = HEAD.format(versions=versions, **named).splitlines()
    lines += ["| problem | simulator | first run s | later run s | ps per multiply-add | result |"]
    lines += ["|---|---|---:|---:|---:|---|"]
    for row in stored["rows"]:
        cells = [row["problem"], row["simulator"], _seconds(row["first"]), _seconds(row["again"])]
        lines.append(f"| {' | '.join([*cells, _per_operation(row), _found(row)])} |")
    lines.append("")
    lines += [f"- {name}: {text}." for name, text in stored["computes"].items()]
    return lines
