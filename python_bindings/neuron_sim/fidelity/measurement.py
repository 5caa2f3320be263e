"""Published measurements of kernels on real chips, as data with their sources."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuron_sim.files import parse_json, read_text

PUBLISHED = Path(__file__).parent / "data" / "latencies.json"
"""The measurements that come with the package."""

ARCHITECTURES = {"trn1": "trn1", "inf2": "trn1", "trn1/inf2 (NeuronCore-v2)": "trn1"}
"""Names that measurements use, by the architecture file that describes the core."""


@dataclass(frozen=True)
class Measurement:
    """One published number. Texts are the source's."""

    id: str
    family: str
    arch: str
    """As published; `architecture` is the file that describes it."""
    kernel: str
    description: str
    shapes: str
    dtype: str
    metric: str
    """What was measured: an nc_latency, a profiler's total time, a bandwidth, ..."""
    value: float
    unit: str
    split: str = "calibration"
    """`calibration`, or `repeat_for_noise`: another run of the same kernel."""
    source: str = ""
    caveats: str = ""
    """Flags, rounding and whatever else the source says about the number."""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    execution: int | None = None
    """Which execution of the kernel was measured, the first being 1; None if not stated."""

    @property
    def profile(self) -> Mapping[str, float]:
        """What the source states beside the total: `hbm_read_bytes`, `hbm_write_bytes`, and
        "ENGINE busy us" of engines that are busy for a fifth of the time or more."""
        stated = self.extra.get("profile")
        if not isinstance(stated, Mapping):
            return {}
        return {
            key: value
            for key, value in stated.items()
            if isinstance(value, int | float) and value > 0
        }

    @property
    def architecture(self) -> str:
        """Name of the architecture file: trn1, trn2, trn3."""
        return ARCHITECTURES.get(self.arch, self.arch)

    @property
    def time(self) -> str:
        """The simulated time that the metric names, a key of `Program.time()`.

        nki.benchmark's NC latency contains the launch, a profiler's total_time its preamble and
        what a first execution adds to it, the profiler's device time none of these.
        """
        metric = self.metric.lower()
        if "device time" in metric:
            return "body_us"
        if not re.search("profile|total_time", metric):
            return "latency_us"
        return "first_profile_us" if self.execution == 1 else "profile_us"

    @property
    def author(self) -> str:
        """Who measured: the repository, owner/name, that the source begins with; for a source
        without one, "unknown" and the family."""
        repository = re.match(r"[\w.-]+/[\w.-]+", self.source)
        return repository.group() if repository else f"unknown ({self.family})"

    @property
    def text(self) -> str:
        """Kernel, description and shapes in lower case, for matching."""
        return " ".join((self.kernel, self.description, self.shapes)).lower()


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return "" if value is None else str(value)


def parse_measurement(entry: Mapping[str, Any]) -> Measurement:
    """A measurement from its JSON object. ValueError names what is missing or not a number."""
    identifier = _text(entry, "id")
    for key in ("id", "family", "arch", "value"):
        if entry.get(key) in (None, ""):
            raise ValueError(f"measurement '{identifier}' has no '{key}'.")
    try:
        value = float(entry["value"])
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"measurement '{identifier}': value {entry['value']!r:.40} is not a number."
        ) from None
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"measurement '{identifier}': value {value:g} is not more than 0.")
    extra = entry.get("extra")
    texts = "family arch kernel description shapes dtype metric source caveats".split()
    return Measurement(
        id=identifier,
        value=value,
        unit=_text(entry, "unit") or "us",
        split=_text(entry, "split") or "calibration",
        extra=extra if isinstance(extra, Mapping) else {},
        execution=entry.get("execution"),
        **{key: _text(entry, key) for key in texts},
    )


def load_measurements(path: Path | str = PUBLISHED) -> list[Measurement]:
    """All measurements of a file in the schema of data/latencies.json: a list of objects."""
    text = read_text(path, "measurements")
    entries = parse_json(text, f"measurements '{path}'")
    if not isinstance(entries, list):
        raise ValueError(f"measurements '{path}' are not a list.")
    measurements = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            raise ValueError(f"measurements '{path}': entry {index} is not an object.")
        measurements.append(parse_measurement(entry))
    return measurements
