"""The suite's kernels with other choices of the model, timed once per kernel and choices."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from neuron_sim import _core
from neuron_sim.fidelity.case import Case
from neuron_sim.fidelity.choices import rules
from neuron_sim.fidelity.evaluate import pass_settings
from neuron_sim.fidelity.leave_out import Asked, Choice, Measured, Taken, preferred_near
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.report import fitted_parameters
from neuron_sim.fidelity.suite import find_case
from neuron_sim.fidelity.variants import LaunchTimings, time_variants
from neuron_sim.model.answers import surroundings
from neuron_sim.sweep.results import Results

NEUTRAL = {"bytes": 1.0, "bytes/ns": 1e6}
"""The value that switches a mechanism off, by unit, where it is not 0: no row is shorter than a
byte, and this rate takes no time."""
UNCHANGED = 1e-3
"""A choice that alone changes a kernel's number by less is left out of its combinations."""
LAUNCH = ("launch.benchmark", "launch.benchmark_software")
"""Values that are added to a latency after the simulation (device/timeline/timing.h), the second
one where GpSimd generates descriptors."""

Changed = Mapping[str, float]
"""Candidates other than the published ones, by choice."""


def model_choices(cores: Sequence[str]) -> list[Choice]:
    """Every rule that a published stack switches on, and every fitted value of these cores."""
    choices = [Choice(rule, (0, 1), 1) for rule in rules()]
    for core, keys in fitted_parameters(cores, passes=False).items():
        facts = _core.architecture_facts(core)
        for key in keys:
            value = float(facts[key]["value"])
            candidates = (NEUTRAL.get(facts[key]["unit"], 0.0), *preferred_near(value))
            choices.append(Choice(f"{core} {key}", candidates, value))
    return choices


class Variant(NamedTuple):
    """A kernel as another compiler compiles it and another core runs it."""

    kernel: str
    off: frozenset[str]
    """Rules that are off."""
    values: frozenset[tuple[str, float]]
    """Facts of the architecture, by key."""


class RetimedCases:
    """Numbers of the measurements' kernels with other choices, as leave_out.Numbers.

    A rule's candidates are 0, off, and 1, as the kernel's stack has it. `results` keeps what was
    simulated, by all that it follows from; `executor` simulates, else this process.
    """

    def __init__(
        self,
        measurements: Sequence[Measurement],
        choices: Sequence[Choice],
        results: Results | None = None,
        executor: Executor | None = None,
    ) -> None:
        found = ((measurement, find_case(measurement)) for measurement in measurements)
        self._cases: dict[str, Case] = {each.id: case for each, case in found if case is not None}
        self._published = {choice.name: choice.published for choice in choices}
        self._rules = frozenset(rules())
        self._results = Results() if results is None else results
        self._executor = executor
        self._timings: dict[Variant, LaunchTimings] = {}
        self._surroundings = _digest(surroundings())

    @property
    def measured(self) -> list[Measured]:
        """The kernels with their authors, in the order of their instructions."""
        self._simulate(self._variant(case, {}) for case in self._cases)
        measurements = [case.measurement for case in self._cases.values()]
        measurements.sort(key=lambda each: self._instructions(each.id))
        return [
            Measured(measurement.id, measurement.author, measurement.value)
            for measurement in measurements
        ]

    def __call__(self, asked: Asked) -> list[float]:
        """The simulated numbers, in the measurements' units."""
        changed = [(kernel, self._changed(kernel, taken)) for kernel, taken in asked]
        self._simulate(
            self._variant(kernel, {name: value})
            for kernel, each in changed
            for name, value in (each if len(each) > 1 else {}).items()
        )
        felt = [(kernel, self._felt(kernel, each)) for kernel, each in changed]
        self._simulate(self._variant(kernel, each) for kernel, each in felt)
        return [self._number(kernel, each) for kernel, each in felt]

    def _instructions(self, kernel: str) -> int:
        timings = self._timings[self._variant(kernel, {})]
        return sum(int(timing["instructions"]) for timing in timings)

    def _changed(self, kernel: str, taken: Taken) -> Changed:
        """What is not as published and can concern the kernel."""
        case = self._cases[kernel]
        settings = [pass_settings(launch.stack) for launch in case.launches]

        def concerns(name: str) -> bool:
            if name in self._rules:
                return any(setting[name] for setting in settings)
            return name.partition(" ")[0] == case.measurement.architecture

        return {
            name: value
            for name, value in taken.items()
            if value != self._published[name] and concerns(name)
        }

    def _felt(self, kernel: str, changed: Changed) -> Changed:
        """The changes that alone change the kernel's number by more than UNCHANGED."""
        if len(changed) < 2:
            return changed
        base = self._number(kernel, {})
        return {
            name: value
            for name, value in changed.items()
            if abs(self._number(kernel, {name: value}) / base - 1) > UNCHANGED
        }

    def _variant(self, kernel: str, changed: Changed) -> Variant:
        off = frozenset(changed.keys() & self._rules)
        values = ((name.partition(" ")[2], changed[name]) for name in changed.keys() - off)
        return Variant(kernel, off, frozenset(value for value in values if value[0] not in LAUNCH))

    def _number(self, kernel: str, changed: Changed) -> float:
        """The number of a simulated variant."""
        case = self._cases[kernel]
        more = dict.fromkeys(LAUNCH, 0.0)  # nanoseconds
        for key in LAUNCH:
            name = f"{case.measurement.architecture} {key}"
            if name in changed:
                more[key] = changed[name] - self._published[name]
        timings = self._timings[self._variant(kernel, changed)]
        return case.number([_launched(timing, *more.values()) for timing in timings])

    def _simulate(self, variants: Iterable[Variant]) -> None:
        """Times the variants that are not known, each program being compiled once."""
        missing: dict[tuple[str, frozenset[str]], list[Variant]] = {}
        for variant in dict.fromkeys(variants):
            if variant in self._timings:
                continue
            kept = self._results.found.get(self._key(variant))
            if kept is None:
                missing.setdefault((variant.kernel, variant.off), []).append(variant)
            else:
                self._timings[variant] = kept["timings"]
        submit = map if self._executor is None else self._executor.map
        measurements = [self._cases[kernel].measurement for kernel, _ in missing]
        rules_off = [sorted(off) for _, off in missing]
        values = [[sorted(each.values) for each in group] for group in missing.values()]
        timed = submit(time_variants, measurements, rules_off, values)
        for group, found in zip(missing.values(), timed, strict=True):
            for variant, timings in zip(group, found, strict=True):
                self._keep(variant, timings)

    def _keep(self, variant: Variant, timings: LaunchTimings) -> None:
        self._timings[variant] = timings
        point: Any = {"kernel": variant.kernel, "off": sorted(variant.off)}
        point["values"] = dict(sorted(variant.values))
        self._results.add(self._key(variant), point, {"timings": timings})

    def _key(self, variant: Variant) -> str:
        """A digest of all that the variant's timings follow from."""
        measurement = dataclasses.asdict(self._cases[variant.kernel].measurement)
        origins = [measurement, sorted(variant.off), sorted(variant.values), self._surroundings]
        return _digest(origins)


def _launched(timing: dict[str, Any], always: float, software: float) -> dict[str, Any]:
    """The timing of a launch that takes so many nanoseconds more, as LAUNCH says."""
    more = always + (software if timing["software_descriptors"] else 0.0)
    return timing | {"latency_us": timing["latency_us"] + 1e-3 * more}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]
