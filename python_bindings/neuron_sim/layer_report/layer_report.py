"""The report on a model: a tree of its layers, as text, Markdown, HTML and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuron_sim.layer_report.page import layer_page
from neuron_sim.layer_report.tree import Layer
from neuron_sim.terminal.tables import as_html, as_markdown, as_text

_INDENT = "  "
_HARD_SPACE = "\u00a0"
"""Markdown drops others at the beginning of a cell."""


@dataclass(frozen=True)
class LayerReport:
    """What one call of a model on the device took, module by module. Times are simulated."""

    model: str
    """Its class."""
    architecture: str
    device: str
    dtype: str
    """The dtype of products, to whose peak MFU relates."""
    peak: float
    """Floating-point operations per second of the Tensor engine in that dtype."""
    compiled: bool
    """Whether a program of torch.compile ran."""
    backward: bool
    """Whether there was a backward pass."""
    root: Layer
    """The model; the times of its children sum to its own, and so on."""
    idle: Mapping[str, int]
    """How many modules of each class launched nothing: they have no row."""
    host_operators: Mapping[str, int]
    """How often an operator without a kernel ran on the CPU: its time is not simulated."""
    depth: int | None = None
    """Levels below the model that tables show; None: all."""

    @property
    def time_us(self) -> float:
        """The time of the whole call: the latencies of its launches."""
        return self.root.use.time_ps / 1e6

    def utilisation(self, layer: Layer) -> float | None:
        """Model FLOP utilisation: floating-point operations of products per second, relative to
        the peak. None of a layer without time."""
        seconds = layer.use.time_ps * 1e-12
        return 2 * layer.use.multiply_accumulates / seconds / self.peak if seconds else None

    def share(self, layer: Layer) -> float:
        """The layer's share of the time of the call, 0 to 1; 0 when the call launched nothing."""
        whole = self.root.use.time_ps
        return layer.use.time_ps / whole if whole else 0.0

    @property
    def title(self) -> str:
        """What ran."""
        how = "torch.compile" if self.compiled else "eager"
        passes = "forward and backward" if self.backward else "forward"
        return f"{self.model} on {self.device} ({self.architecture}), {how}, {passes}"

    @property
    def notes(self) -> list[str]:
        """What the table does not show, a sentence each."""
        notes = [f"MFU: of {self.peak / 1e12:.4g} TFLOP/s ({self.dtype})."]
        if self.idle:
            notes.append(f"Modules without launches: {_counted(self.idle)}.")
        if self.host_operators:
            notes.append(
                f"On the CPU, whose time is not simulated: {_counted(self.host_operators)}."
            )
        return notes

    def rows(self, depth: int | None = None, indent: str = _INDENT) -> list[dict[str, Any]]:
        """A line of a table for each layer, at most `depth` levels below the model, with names
        indented by level."""
        return [
            self._row(layer, indent * level + self._name(layer))
            for level, layer in self.root.walk(depth)
        ]

    def _name(self, layer: Layer) -> str:
        name = layer.name or self.model
        return f"{name} (also {', '.join(layer.aliases)})" if layer.aliases else name

    def _row(self, layer: Layer, name: str) -> dict[str, Any]:
        use, utilisation = layer.use, self.utilisation(layer)
        passes = {"forward us": use.forward_ps / 1e6, "backward us": use.backward_ps / 1e6}
        return {
            "layer": name,
            "class": layer.kind,
            **({} if self.root.calls is None else {"calls": layer.calls or None}),
            "launches": len(use.launches),
            "us": use.time_ps / 1e6,
            **(passes if self.backward else {}),
            "share %": 100 * self.share(layer),
            "MFU %": None if utilisation is None else 100 * utilisation,
            "HBM MB": use.hbm_bytes / 1e6,
            "peak MB": use.peak_bytes / 1e6,
        }

    def __str__(self) -> str:
        return as_text(self.rows(self.depth), title=self.title) + "\n".join(self.notes)

    def to_markdown(self) -> str:
        """A table in Markdown, with a title and notes."""
        table = as_markdown(self.rows(self.depth, _HARD_SPACE * 2 * len(_INDENT)))
        return f"**{self.title}**\n\n{table}\n{' '.join(self.notes)}\n"

    def to_html(self) -> str:
        """A page for a browser, light or dark as that is, which needs no network. It shows all
        layers, and those below `depth` when asked."""
        names = [self._name(layer) for _, layer in self.root.walk()]
        rows = list(zip(self.root.walk(), self.rows(), names, strict=True))
        lines = [(level, {**row, "layer": name}) for (level, _), row, name in rows]
        return layer_page(self.title, self.notes, lines, self.depth)

    def to_json(self) -> str:
        """as_object() as text."""
        return json.dumps(self.as_object(), indent=2)

    def as_object(self) -> dict[str, Any]:
        """Everything with all digits: times in us, bytes, shares from 0 to 1; `layers` is the
        model with its `children`."""
        return {
            "model": self.model,
            "architecture": self.architecture,
            "device": self.device,
            "dtype": self.dtype,
            "peak_flops": self.peak,
            "compiled": self.compiled,
            "backward": self.backward,
            "idle": dict(self.idle),
            "host_operators": dict(self.host_operators),
            "layers": self._as_dict(self.root),
        }

    def _as_dict(self, layer: Layer) -> dict[str, Any]:
        use = layer.use
        return {
            "path": layer.path,
            "name": layer.name,
            "class": layer.kind,
            "aliases": layer.aliases,
            "calls": layer.calls,
            "launches": len(use.launches),
            "time_us": use.time_ps / 1e6,
            "forward_us": use.forward_ps / 1e6,
            "backward_us": use.backward_ps / 1e6,
            "share": self.share(layer),
            "mfu": self.utilisation(layer),
            "flop": 2 * use.multiply_accumulates,
            "hbm_bytes": use.hbm_bytes,
            "peak_bytes": use.peak_bytes,
            "children": [self._as_dict(child) for child in layer.children],
        }

    def _repr_html_(self) -> str:
        return as_html(self.rows(self.depth), title=self.title)


def _counted(counts: Mapping[str, int]) -> str:
    """ "Dropout 3, ReLU 1": the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered)
