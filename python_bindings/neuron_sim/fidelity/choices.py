"""The free choices of the model, and the measurements that determine each.

A choice is a value that was fitted, or a rule of the compiler's model that a published stack
switches on. It is determined by the kernels whose simulated time changes by more than CHANGE when
it is made neutral, all else equal: a rule off, a feature the other way, a value CHANGED_VALUE times
as large. Values are not fitted again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from neuron_sim import _core
from neuron_sim.fidelity.case import Case
from neuron_sim.fidelity.evaluate import PreparedCase, pass_settings
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.published.evaluate import without_rules
from neuron_sim.fidelity.published.thresholds import TOLERANCE, published_thresholds
from neuron_sim.fidelity.report import fitted_parameters
from neuron_sim.fidelity.statistics import error_percent
from neuron_sim.fidelity.suite import find_case

CHANGE = 0.01
CHANGED_VALUE = 1.25
GIVEN = ("disable_dge", "split_over_cores")
"""Settings that say what the author asked for: no choice of the model."""


def write_trial(folder: Path, architecture: str, values: Mapping[str, tuple[float, str]]) -> Path:
    """A file of the built-in `architecture` except `values` (by dotted key, with their units).

    The same path is reused: the simulator reads a file every time it is named.
    """
    lines = [f'base = "{architecture}"', f'name = "{architecture}"']
    for key, (value, unit) in values.items():
        written = value if isinstance(value, int) else float(value)  # or one of NumPy's
        lines.append(
            f'{key} = {{ value = {str(written).lower()}, unit = "{unit}", '
            'source = "trial of a fit", certainty = "fitted" }'
        )
    path = folder / "trial.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@dataclass(frozen=True)
class Effect:
    """What a choice does to the kernels of the suite."""

    choice: str
    kind: str
    """`rule` or `value`."""
    determined_by: tuple[str, ...]
    """Measurements whose simulated number changes by more than CHANGE without it."""
    mape_percent: float
    """The error of all cases without it."""


class BuiltCase(PreparedCase):
    """A case with its simulated number in the measurement's unit."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.simulated = self.time()
        self.settings = [pass_settings(launch.stack) for launch in case.launches]


def build(measurements: Sequence[Measurement]) -> list[BuiltCase]:
    """The cases of the measurements that have a kernel, built and compiled once."""
    return [BuiltCase(case) for case in map(find_case, measurements) if case is not None]


def mape(cases: Sequence[BuiltCase]) -> float:
    """Mean absolute error of the cases with all choices, in percent."""
    return fmean(abs(error_percent(case.case.measurement.value, case.simulated)) for case in cases)


def rules() -> list[str]:
    """Settings of the compiler's passes that a published stack has on."""
    stacks = _core.published_stacks().values()
    return [
        name
        for name in _core.pass_settings()
        if name not in GIVEN and any(stack["settings"][name] for stack in stacks)
    ]


def authors_files(
    measurements: Sequence[Measurement], checkouts: Path
) -> dict[str, tuple[str, ...]]:
    """By rule: the measurements whose authors' files in `checkouts` take another simulated time
    without it."""
    names = rules()
    changed: dict[str, list[str]] = {name: [] for name in names}
    for measurement in measurements:
        numbers = without_rules(measurement, checkouts, names)
        for name in names if numbers else ():
            if abs(numbers[name] / numbers["published"] - 1) > CHANGE:
                changed[name].append(measurement.id)
    return {name: tuple(found) for name, found in changed.items()}


def missed_thresholds(checkouts: Path, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """By rule of `names`: the thresholds that files in `checkouts` meet, as they did on hardware,
    and miss by more than TOLERANCE without it."""
    missed: dict[str, list[str]] = {name: [] for name in names}
    for threshold in published_thresholds():
        measurement = threshold.measurement
        numbers = without_rules(measurement, checkouts, names, threshold.kernel)
        bound = (1 + TOLERANCE) * measurement.value
        if not numbers or numbers["published"] > bound:
            continue
        for name in names:
            if numbers[name] > bound:
                missed[name].append(measurement.id)
    return {name: tuple(found) for name, found in missed.items()}


def switched_off(settings: Mapping[str, Any], rules: Iterable[str]) -> dict[str, Any]:
    """The settings of passes with these rules off."""
    return {**settings, **{rule: type(settings[rule])(0) for rule in rules}}


def without_rule(built: BuiltCase, rule: str) -> float:
    """The simulated number with that rule off."""
    if not any(settings[rule] for settings in built.settings):
        return built.simulated
    programs = [
        _core.compile_program(source, switched_off(settings, [rule]))
        for source, settings in zip(built.sources, built.settings, strict=True)
    ]
    return built.case.number([program.time() for program in programs])


def _effect(
    choice: str, kind: str, cases: Sequence[BuiltCase], number: Callable[[BuiltCase], float]
) -> Effect:
    numbers = [number(case) for case in cases]
    pairs = list(zip(cases, numbers, strict=True))
    errors = [abs(error_percent(each.case.measurement.value, found)) for each, found in pairs]
    changed = [each for each, found in pairs if abs(found / each.simulated - 1) > CHANGE]
    names = tuple(each.case.measurement.id for each in changed)
    return Effect(choice, kind, names, fmean(errors))


def effects(cases: Sequence[BuiltCase]) -> Iterator[Effect]:
    """The effect of every choice: rules, then fitted values by architecture."""
    for rule in rules():
        yield _effect(rule, "rule", cases, partial(without_rule, rule=rule))
    cores = sorted({case.case.measurement.architecture for case in cases})
    for core, keys in fitted_parameters(cores, passes=False).items():
        facts = _core.architecture_facts(core)
        for key in keys:
            yield _value_effect(core, key, facts[key], cases)


def _changed(key: str, fact: Mapping[str, Any]) -> float:
    """The value of a fitted fact that stands for another choice, in the form that its key takes."""
    if key.startswith("features."):
        return not fact["value"]
    changed: float = CHANGED_VALUE * fact["value"]
    return int(changed) if fact["unit"] == "bytes" else changed


def _value_effect(
    core: str, key: str, fact: Mapping[str, Any], cases: Sequence[BuiltCase]
) -> Effect:
    with tempfile.TemporaryDirectory() as folder:
        values = {key: (_changed(key, fact), fact["unit"])}
        trial = str(write_trial(Path(folder), core, values))
        return _effect(
            f"{core} {key}",
            "value",
            cases,
            lambda each: (
                each.time(architecture=trial)
                if each.case.measurement.architecture == core
                else each.simulated
            ),
        )
