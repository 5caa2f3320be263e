"""The profile of a kernel that has run: its recording, and what else its files and tables show."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from neuron_sim.nki.measurement.tables.run_profile import RunProfile
from neuron_sim.nki.measurement.tables.summary import summary_of
from neuron_sim.timeline.advice import advise
from neuron_sim.timeline.changes import Change
from neuron_sim.timeline.interval import COVERAGE, interval, kind_of
from neuron_sim.timeline.recorded_run import code_of

from .generations import instance_type

_TYPES = {"f8": "<f8", "u4": "<u4", "i4": "<i4", "u1": "u1"}


def profile_of(kernel: Any, changes: Sequence[Change] | None = None) -> RunProfile:
    """The profile of a traced kernel that has run, from one recording; `changes` to it that were
    tried."""
    program, timing = kernel.program, kernel.time()
    log = list(getattr(kernel, "log", []))
    recording = program.recording(log=log)
    error = interval(kind_of([timing]))
    header = {name: value for name, value in recording.items() if name != "columns"}
    header |= {
        "advice": advise(program, log, recording, changes).as_dict(),
        "arguments": program.arguments,
        "facts": {name: fact["value"] for name, fact in program.facts.items()},
        "generation": program.generation,
        "instance_type": instance_type(program.architecture, program.generation),
        "instruction_counters": program.instruction_counters(),
        "lines": code_of(each["source"] for each in recording["names"]["instructions"]),
        "interval": {"low": error.low, "high": error.high, "share": COVERAGE},
        "program": digest_of(program),
        "spills": program.spills,
        "timing": timing,
        "totals": program.counters(log=log),
    }
    columns = {
        name: np.frombuffer(content, _TYPES[kind])
        for name, (kind, content) in recording["columns"].items()
    }
    return RunProfile(header, columns)


def profile_summary(kernel: Any) -> dict[str, Any]:
    """Metrics of one run of a traced kernel, sorted by name."""
    return summary_of(profile_of(kernel))


def digest_of(program: Any) -> str:
    """Tells programs apart: equal for programs of the same name, chip, instructions and loops."""
    text = f"{program.kernel}\n{program.architecture}\n{program.listing()}"
    return hashlib.sha256(text.encode()).hexdigest()
