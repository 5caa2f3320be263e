"""Which values of an architecture file are fitted, and between which bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuron_sim import _core
from neuron_sim.fidelity.calibrate.files import HAND_WRITTEN, write_trial

SECTIONS = ("tensor", "vector", "scalar", "gpsimd", "sync", "rates", "dma", "semaphore", "launch")
"""Sections that hold times and rates; the others are sizes, features and clocks."""
UNSURE = ("fitted", "assumed")
"""Certainties of the values that are fitted when none is named: documented values and direct
readings of traces are not fitted."""
BRACKETS: Mapping[str, tuple[float, float]] = {
    # Busy fractions of the trn2 attention traces: 0.74 stayed cold and 0.94 went warm; 0.43 stayed
    # warm, as the model counts, and 0.00 went cold.
    "tensor.gate_up": (0.74, 0.94),
    "tensor.gate_down": (0.0, 0.43),
}
"""Bounds backed by evidence; any other value may be halved or doubled."""
PRIORS: Mapping[str, Mapping[str, float]] = {
    "trn1": {
        "vector.overhead_sbuf": 60,  # documents; the file has a total of conv1d
        "vector.overhead_psum": 60,
        "dma.bytes_per_nanosecond": 17,  # bandwidth guide; the file has totals of a read curve
        "dma.bytes_per_nanosecond_store": 17,  # the file has totals of a write curve
        "dma.small_row_packet": 3,  # dma.packet; the file has totals of small loads
        "dma.packet": 5.3,  # trn2, measured; the file has a total of a GEMM
        "dma.element_scatter": 9,  # trn2; the file has totals of a strided store
        "launch.benchmark": 8500,  # trn2, measured; the file has totals of vector add
    },
    "trn2": {
        "tensor.strided_load_factor": 1,  # no factor; the file has a total of conv2d
        "rates.two_inputs": 2,  # documented; the file has profiles of vector add
        "launch.benchmark": 8500,  # traces; the file has totals of small attention
        "launch.benchmark_software": 0,
    },
}
"""Values assumed without the totals that a hand-written value comes from: where cross-validation
fits start, so that a left-out family is not part of its own prediction."""


@dataclass(frozen=True)
class Parameter:
    """A value of an architecture file, where it starts, and between which bounds it may move."""

    key: str
    """Dotted key: "dma.packet"."""
    start: float
    low: float
    high: float
    unit: str
    prior: float | None = None
    """The value assumed without kernel totals; None: `start` does not come from them."""

    def value(self, position: float) -> float:
        """The value at a position from 0 (low) to 1 (high)."""
        return self.low + position * (self.high - self.low)

    def position(self, value: float) -> float:
        """Where a value lies between the bounds, 0 to 1."""
        return (value - self.low) / (self.high - self.low)


def _bounds(key: str, start: float, given: tuple[float, float] | None) -> tuple[float, float]:
    low, high = given or BRACKETS.get(key, (start / 2, start * 2))
    if not low < high:
        raise ValueError(f"parameter '{key}': its bounds {low:g} and {high:g} leave no range.")
    if not low <= start <= high:
        raise ValueError(
            f"parameter '{key}' is {start:g}, which is outside its bounds {low:g} and {high:g}."
        )
    return low, high


def parse_parameter(text: str) -> tuple[str, tuple[float, float] | None]:
    """Key and bounds of "key" or "key=low:high"."""
    key, equals, bounds = text.partition("=")
    if not equals:
        return key, None
    low, colon, high = bounds.partition(":")
    try:
        if not colon:
            raise ValueError
        return key, (float(low), float(high))
    except ValueError:
        raise ValueError(f"parameter '{text}' is not of the form key=low:high.") from None


def default_parameters(facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Keys of times and rates that no document and no trace gives directly."""
    return [
        key
        for key, fact in facts.items()
        if key.split(".")[0] in SECTIONS and fact["certainty"] in UNSURE and fact["value"] > 0
    ]


def named_parameters(
    architecture: str, texts: Sequence[str], folder: Path
) -> tuple[list[Parameter], dict[str, str]]:
    """Parameters of "key" or "key=low:high", and why others cannot be fitted.

    No text at all means default_parameters. ValueError for a key that is unknown, is named twice,
    or has bounds that the value or the schema does not allow. `folder` is for trial files.
    """
    facts = _core.architecture_facts(HAND_WRITTEN + architecture)
    parameters: list[Parameter] = []
    refused: dict[str, str] = {}
    for text in texts or default_parameters(facts):
        key, given = parse_parameter(text)
        if key not in facts:
            raise ValueError(f"parameter '{key}' is no value of architecture '{architecture}'.")
        if any(parameter.key == key for parameter in parameters):
            raise ValueError(f"parameter '{key}' is named twice.")
        start, unit = facts[key]["value"], facts[key]["unit"]
        low, high = _bounds(key, start, given)
        prior = PRIORS.get(architecture, {}).get(key)
        parameter = Parameter(key, start, low, high, unit, prior)
        try:
            _check_range(architecture, parameter, folder)
        except ValueError as error:
            if "must be an integer" in str(error):
                refused[key] = "it is a whole number"
            elif given is None:
                refused[key] = str(error).rstrip(".")
            else:
                raise
            continue
        parameters.append(parameter)
    return parameters, refused


def _check_range(architecture: str, parameter: Parameter, folder: Path) -> None:
    """ValueError when the schema refuses a bound or a value between them (a whole number)."""
    for position in (0.0, 0.512345, 1.0):
        value = parameter.value(position)
        trial = write_trial(folder, architecture, {parameter.key: (value, parameter.unit)})
        _core.architecture_facts(str(trial))
