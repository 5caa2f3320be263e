"""The figures that README.md and the hand-written pages of docs/ cite, each from its source.

A page cites one as `<!--=NAME-->98<!--/-->`; tools/write_figures.py writes the value. NAME is one
of FIGURES, or `trn2:dma.engines`: a fact of an architecture, with its unit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import build_wheels
import neuron_sim._core as core

ROOT = Path(__file__).resolve().parents[1]
Report = dict[str, Any]


def stored(name: str) -> Report:
    """The data behind a generated page: docs/NAME.json."""
    report: Report = json.loads((ROOT / "docs" / f"{name}.json").read_text(encoding="utf-8"))
    return report


def fact(name: str) -> str:
    """A fact by architecture and key, with its unit: "16", "1.5 us", "56 MiB"."""
    architecture, _, key = name.partition(":")
    entry = core.architecture_facts(architecture)[key]
    value, unit = entry["value"], entry["unit"]
    if unit == "ns" and value >= 1000:
        value, unit = value / 1000, "us"
    if unit == "bytes" and value % 2**20 == 0:
        value, unit = value / 2**20, "MiB"
    return f"{value:,g}" if unit == "1" else f"{value:,g} {unit}"


def torch_release() -> str:
    """The release of torch that the development environment has."""
    text = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    return re.findall(r"^torch==(\S+)$", text, re.MULTILINE)[0]


def listed(names: list[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]])


def fidelity(*keys: str) -> str:
    """A number of docs/fidelity.json: a count as it is, percent with one digit."""
    value: Any = stored("fidelity")
    for key in keys:
        value = value[key]
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def public_files() -> str:
    """Measured kernels whose author's file is public: those that run and those that fail."""
    published = stored("fidelity")["published"]
    return str(published["overall"]["cases"] + len(published["failed"]))


def largest_replay_error(key: str) -> str:
    """The largest error of a replayed trace, in percent."""
    return f"{max(abs(trace[key]) for trace in stored('fidelity')['replay']):.1f}"


def compiled_speedups() -> list[float]:
    """How many times less kernel time torch.compile gives, by network, from docs/models.md."""
    page = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    section = page.partition("\n## Compiled\n")[2].partition("\n## ")[0]
    return [float(times) for times in re.findall(r"\| ([\d.]+) \| [\d,]+ to [\d,]+ \|", section)]


def performance(row: str, name: str) -> float:
    """A figure of docs/performance.json, of the processor that measured it last."""
    columns: Any = stored("performance")
    value = next(
        figure["value"]
        for column in columns
        for entry in column["rows"]
        for figure in entry["figures"]
        if (entry["name"], figure["name"]) == (row, name)
    )
    return float(value)


FIGURES: dict[str, Callable[[], str]] = {
    "torch": torch_release,
    "pythons": lambda: listed(build_wheels.python_versions()),
    "glibc": lambda: ".".join(map(str, build_wheels.NEWEST_GLIBC)),
    "torch_versions": lambda: listed(build_wheels.torch_versions()),
    "facts": lambda: str(len(core.architecture_facts("trn2"))),
    "fidelity.cases": lambda: str(len(stored("fidelity")["fidelity"]["cases"])),
    "fidelity.kernels": lambda: fidelity("fidelity", "overall", "cases"),
    "fidelity.mean": lambda: fidelity("fidelity", "overall", "mape_percent"),
    "fidelity.median": lambda: fidelity("fidelity", "overall", "median_percent"),
    "fidelity.passes_off": lambda: fidelity("fidelity", "passes_off", "overall", "mape_percent"),
    "files.public": public_files,
    "files.run": lambda: fidelity("published", "overall", "cases"),
    "files.mean": lambda: fidelity("published", "overall", "mape_percent"),
    "files.median": lambda: fidelity("published", "overall", "median_percent"),
    "held_out.cases": lambda: fidelity("held_out", "overall", "cases"),
    "held_out.mean": lambda: fidelity("held_out", "overall", "mape_percent"),
    "held_out.median": lambda: fidelity("held_out", "overall", "median_percent"),
    "replay.durations": lambda: largest_replay_error("duration_percent"),
    "replay.bodies": lambda: largest_replay_error("body_percent"),
    "compiled.least": lambda: f"{min(compiled_speedups()):.1f}",
    "compiled.most": lambda: f"{max(compiled_speedups()):.1f}",
    "compile_bert": lambda: f"{performance('compile_bert', 'first call'):.1f}",
    "convolution.instances": lambda: f"{performance('scaling', 'convolution, instructions'):,.0f}",
}


def figure(name: str) -> str:
    """The value of a figure. KeyError for a name that nothing defines."""
    return fact(name) if ":" in name else FIGURES[name]()
