"""The suite's kernels with other choices of the model, timed once per kernel and choices."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from neuron_sim import _core
from neuron_sim.fidelity.calibrate.files import write_trial
from neuron_sim.fidelity.choices import BuiltCase, number_of, rules
from neuron_sim.fidelity.leave_out import Choice, Measured, Taken, preferred_near
from neuron_sim.fidelity.report import fitted_parameters

NEUTRAL = {"bytes": 1.0, "bytes/ns": 1e6}
"""The value that switches a mechanism off, by unit, where it is not 0: no row is shorter than a
byte, and this rate takes no time."""
UNCHANGED = 1e-3
"""A choice that alone changes a kernel's number by less is left out of its combinations."""


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


class RetimedCases:
    """Numbers of built cases with other choices, as leave_out.Number.

    A rule's candidates are 0, off, and 1, as the kernel's stack has it.
    """

    def __init__(self, cases: Sequence[BuiltCase], choices: Sequence[Choice]) -> None:
        self._cases = {each.case.measurement.id: each for each in cases}
        self._published = {each.name: each.published for each in choices}
        self._rules = frozenset(rules())
        self._numbers: dict[tuple[str, frozenset[tuple[str, float]]], float] = {}
        self._programs: dict[str, tuple[frozenset[str], list[_core.Program]]] = {}
        self._folder = tempfile.TemporaryDirectory()

    @property
    def measured(self) -> list[Measured]:
        """The kernels with their authors."""
        measurements = [each.case.measurement for each in self._cases.values()]
        return [Measured(each.id, each.author, each.value) for each in measurements]

    def __call__(self, identifier: str, taken: Taken) -> float:
        """The simulated number, in the measurement's unit."""
        changed = {
            name: value
            for name, value in taken.items()
            if value != self._published[name] and self._concerns(identifier, name)
        }
        if len(changed) > 1:
            base = self._cases[identifier].simulated
            changed = {
                name: value
                for name, value in changed.items()
                if abs(self._number(identifier, {name: value}) / base - 1) > UNCHANGED
            }
        return self._number(identifier, changed)

    def _concerns(self, identifier: str, name: str) -> bool:
        case = self._cases[identifier]
        if name in self._rules:
            return any(settings[name] for settings in case.settings)
        return name.partition(" ")[0] == case.case.measurement.architecture

    def _number(self, identifier: str, changed: Mapping[str, float]) -> float:
        case = self._cases[identifier]
        if not changed:
            return case.simulated
        key = (identifier, frozenset(changed.items()))
        if key not in self._numbers:
            off = frozenset(changed.keys() & self._rules)
            values = {name: value for name, value in changed.items() if name not in off}
            programs = self._compiled(identifier, off)
            self._numbers[key] = number_of(case.case, programs, self._architecture(values))
        return self._numbers[key]

    def _compiled(self, identifier: str, off: frozenset[str]) -> Sequence[_core.Program]:
        case = self._cases[identifier]
        if not off:
            return case.compiled
        kept = self._programs.get(identifier)  # one: programs are large
        if kept is None or kept[0] != off:
            programs = [
                _core.compile_program(
                    source, settings | {name: type(settings[name])(0) for name in off}
                )
                for source, settings in zip(case.sources, case.settings, strict=True)
            ]
            kept = self._programs[identifier] = (off, programs)
        return kept[1]

    def _architecture(self, values: Mapping[str, float]) -> str | None:
        """A file with these values; None for no change."""
        if not values:
            return None
        core = next(iter(values)).partition(" ")[0]
        facts = _core.architecture_facts(core)
        changed = {}
        for name, value in values.items():
            key = name.partition(" ")[2]
            unit = facts[key]["unit"]
            changed[key] = (int(value) if unit == "bytes" else value, unit)
        return str(write_trial(Path(self._folder.name), core, changed))
