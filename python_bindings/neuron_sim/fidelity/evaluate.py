"""Times the cases of the suite: as their authors wrote them, and as a published stack compiles."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuron_sim import _core
from neuron_sim.fidelity.case import Case, Launch
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.statistics import Pair
from neuron_sim.fidelity.suite import find_case
from neuron_sim.timeline.interval import kind_of

STACKS = ("published", "off")
"""Compiler passes: those of the stack that each source used, or none."""

FindCase = Callable[[Measurement], Case | None]


def compile_with_report(launch: Launch) -> tuple[tuple[_core.Program, _core.Program], list[str]]:
    """The program as built and as compiled, and the passes left out because the chip cannot hold
    what they keep."""
    source = launch.build()
    compiled, skipped_passes = _core.compile_with_report(source, pass_settings(launch.stack))
    return (source, compiled), skipped_passes


@functools.cache
def _published_stacks() -> dict[str, dict[str, Any]]:
    return dict(_core.published_stacks())


def pass_settings(stack: str) -> dict[str, Any]:
    """Settings of a published stack's passes; ValueError when there is no such stack."""
    stacks = _published_stacks()
    if stack not in stacks:
        raise ValueError(f"stack '{stack}' is not published; stacks: {', '.join(stacks)}.")
    return dict(stacks[stack]["settings"])


class PreparedCase:
    """A case whose programs are built and compiled once, to be timed with many architectures."""

    def __init__(self, case: Case) -> None:
        self.case = case
        compiled = [compile_with_report(launch) for launch in case.launches]
        self._programs = [programs for programs, _ in compiled]
        self.skipped_passes = list(dict.fromkeys(name for _, names in compiled for name in names))
        """Passes that were left out of a program because the chip cannot hold what they keep."""

    @property
    def sources(self) -> list[_core.Program]:
        """The programs as their author wrote them."""
        return [source for source, _ in self._programs]

    @property
    def objection(self) -> str:
        """Why the passes left one of the programs unchanged; empty when they ran."""
        return next(filter(None, (_core.pass_objection(each[0]) for each in self._programs)), "")

    def time(self, stack: str = "published", architecture: str | None = None) -> float:
        """The simulated number in the measurement's unit.

        `architecture`: name or file of other parameters of the same core.
        """
        return self.case.number(self._timings(stack, architecture))

    def kind(self, architecture: str | None = None) -> str:
        """What takes the time of the compiled programs, as for intervals."""
        return kind_of(self._timings("published", architecture))

    def body_us(self, architecture: str | None = None) -> float:
        """The bodies of the compiled programs together, in microseconds."""
        return sum(float(each["body_us"]) for each in self._timings("published", architecture))

    def _timings(self, stack: str, architecture: str | None) -> list[dict[str, Any]]:
        index = STACKS[::-1].index(stack)
        options = () if architecture is None else (architecture,)
        return [each[index].time(*options) for each in self._programs]


@dataclass(frozen=True)
class Evaluated:
    """The outcome for one measurement."""

    measurement: Measurement
    simulated: dict[str, float | None]
    """By stack; None without a kernel or when the kernel failed."""
    stack: str | None = None
    """Names of the published stacks of the launches."""
    settings: dict[str, Any] | None = None
    """Settings of the passes, by stack when the launches have several."""
    reason: str | None = None
    """Why there is no simulated number."""
    has_kernel: bool = False
    objection: str = ""
    """Why the passes left a program unchanged; empty when they ran."""
    skipped_passes: tuple[str, ...] = ()
    """Passes that were left out because the chip cannot hold what they keep."""
    kind: str | None = None
    """What takes the simulated time, a kind of intervals; None without a simulated number."""
    profile: Mapping[str, float] = field(default_factory=dict)
    """Simulated figures of Measurement.profile, of authors' files with the published stack."""

    def pair(self, stack: str) -> Pair | None:
        """For the statistics; None without a simulated number."""
        simulated = self.simulated[stack]
        if simulated is None:
            return None
        measured = self.measurement
        return Pair(measured.family, measured.value, simulated, measured.unit)


def without_number(measurement: Measurement, reason: str, has_kernel: bool = False) -> Evaluated:
    """The outcome without a simulated number, and why."""
    return Evaluated(measurement, dict.fromkeys(STACKS), reason=reason, has_kernel=has_kernel)


def _settings(stacks: Sequence[str]) -> dict[str, Any]:
    if len(stacks) == 1:
        return pass_settings(stacks[0])
    return {stack: pass_settings(stack) for stack in stacks}


def evaluate(
    measurement: Measurement, architecture: str | None = None, find: FindCase = find_case
) -> Evaluated:
    """Builds and times the kernel of a measurement. A failure is a reason, not an exception."""
    if measurement.architecture not in _core.architectures():
        return without_number(measurement, f"architecture '{measurement.arch}' is not modelled")
    try:
        case = find(measurement)
        if case is None:
            return without_number(measurement, "no kernel of the suite matches")
        prepared = PreparedCase(case)
        stacks = list(dict.fromkeys(launch.stack for launch in case.launches))
        return Evaluated(
            measurement,
            {stack: prepared.time(stack, architecture) for stack in STACKS},
            " + ".join(stacks),
            _settings(stacks),
            has_kernel=True,
            objection=prepared.objection,
            skipped_passes=tuple(prepared.skipped_passes),
            kind=prepared.kind(architecture),
        )
    except Exception as error:  # a kernel that cannot be built fails one case, not the suite
        sentence = str(error).split("\n", 1)[0]
        return without_number(measurement, f"{type(error).__name__}: {sentence}", has_kernel=True)
