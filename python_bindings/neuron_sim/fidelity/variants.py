"""Times a kernel as another compiler compiles it, on other cores; in any process."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from neuron_sim import _core
from neuron_sim.fidelity.choices import switched_off, write_trial
from neuron_sim.fidelity.evaluate import pass_settings
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.suite import find_case

LaunchTimings: TypeAlias = list[dict[str, Any]]
"""What `Program.time()` says of each launch."""

COMPILED = 64
"""Programs that are kept: the values of a core are chosen one after the other."""


def time_variants(
    measurement: Measurement, off: Sequence[str], values: Sequence[Sequence[tuple[str, float]]]
) -> list[LaunchTimings]:
    """The timings of the measurement's kernel without these rules, for each set of values of the
    architecture's facts by key."""
    programs = _compiled(measurement, tuple(off))
    with tempfile.TemporaryDirectory() as folder:
        return [
            [
                program.time(**_architecture(Path(folder), measurement.architecture, each))
                for program in programs
            ]
            for each in values
        ]


@functools.lru_cache(maxsize=COMPILED)
def _compiled(measurement: Measurement, off: tuple[str, ...]) -> list[_core.Program]:
    case = find_case(measurement)
    if case is None:
        raise ValueError(f"no kernel of the suite matches measurement '{measurement.id}'.")
    return [
        _core.compile_program(launch.build(), switched_off(pass_settings(launch.stack), off))
        for launch in case.launches
    ]


def _architecture(folder: Path, core: str, values: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """The option of `Program.time()` for a core with these values; none for the core as it is."""
    if not values:
        return {}
    facts = _core.architecture_facts(core)
    units = {key: facts[key]["unit"] for key, _ in values}
    changed = {key: (int(value) if units[key] == "bytes" else value, units[key])
               for key, value in values}  # fmt: skip
    return {"architecture": str(write_trial(folder, core, changed))}
