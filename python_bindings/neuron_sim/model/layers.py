"""Where the time of a model goes, module by module; modules that repeat are one row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from torch import nn

from neuron_sim.timeline.spans import Span
from neuron_sim.torch_backend.launches import GRAPH

if TYPE_CHECKING:
    from neuron_sim.model.causal_model import CausalLanguageModel


@dataclass
class LayerShare:
    """What a part of a model takes in one run."""

    path_us: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Its part of the critical path, by what it is spent on; simulated microseconds."""
    moved: float = 0
    """Bytes through the DMA engines."""
    multiply_accumulates: float = 0
    """Multiply-accumulates of products as programmed, not of transposes on the Tensor engine."""

    @property
    def time_us(self) -> float:
        """Its part of the critical path."""
        return sum(self.path_us.values())

    @property
    def bound(self) -> str:
        """What most of its time is spent on, as Program.recording()'s path names it."""
        return max(self.path_us, key=self.path_us.__getitem__, default="nothing")

    def add(self, other: LayerShare, times: float = 1) -> None:
        """Adds `times` as much as `other`."""
        for spent, time in other.path_us.items():
            self.path_us[spent] += times * time
        self.moved += times * other.moved
        self.multiply_accumulates += times * other.multiply_accumulates


Shares = dict[str, LayerShare]
"""By module path, "" for the model itself; in the order of the run."""


def shares_of(launches: Sequence[Any], graphs: Sequence[Any]) -> Shares:
    """Shares of the launches of a run of these graphs (CompiledGraph). Programs outside of a graph
    are named after their kernel."""
    shares: Shares = {}
    known = [source for graph in graphs for source in graph.program_sources]
    if len(known) != len(launches):  # something else ran as well
        known = [""] * len(launches)
    for launch, module in zip(launches, known, strict=True):
        for found in launch.shares_by_source():
            source = found["module"] if launch.name == GRAPH else module or launch.name
            share = LayerShare(moved=found["dma_bytes"])
            share.path_us.update(found["path_us"])
            share.multiply_accumulates = found["multiply_accumulates"]
            shares.setdefault(source, LayerShare()).add(share)
    return shares


def grouped(shares: Shares, label: Callable[[str], str]) -> Shares:
    """The shares of paths with the same label together."""
    result: Shares = {}
    for path, share in shares.items():
        result.setdefault(label(path), LayerShare()).add(share)
    return result


def combined(weighted: Sequence[tuple[float, Shares]]) -> Shares:
    """The sum of shares, each so many times."""
    result: Shares = {}
    for times, shares in weighted:
        for path, share in shares.items():
            result.setdefault(path, LayerShare()).add(share, times)
    return result


def spans_of_all(
    spans: Sequence[Span], model: CausalLanguageModel, timed: Sequence[int]
) -> list[Span]:
    """The spans of all layers, from a program of the `timed` ones: a layer that was left out gets
    the spans of the last timed layer of its kind."""
    pattern = re.compile(rf"^{re.escape(model.layers_path)}\.(\d+)(?=\.|$)")
    by_place: dict[int, list[Span]] = {}
    around: tuple[list[Span], list[Span]] = [], []
    for span in spans:
        found = pattern.match(span.module)
        if found is None:
            around[bool(by_place)].append(span)
        else:
            by_place.setdefault(int(found[1]), []).append(span)
    last = {model.kinds[layer]: place for place, layer in enumerate(timed)}
    places = dict(zip(timed, range(len(timed)), strict=True))
    layers = [
        replace(span, module=pattern.sub(f"{model.layers_path}.{index}", span.module))
        for index, kind in enumerate(model.kinds)
        for span in by_place.get(places.get(index, last[kind]), [])
    ]
    return [*around[0], *layers, *around[1]]


def labels_of(module: nn.Module) -> Callable[[str], str]:
    """Labels of module paths in which numbered modules of one parent that are alike share one:
    "layers.[0-11].attention". Alike: their text and the sizes of their parameters are equal."""
    replaced: dict[str, str] = {}
    for path, parent in module.named_modules():
        alike: dict[Any, list[int]] = {}
        for name, child in parent.named_children():
            if name.isdigit():
                sizes = tuple((n, tuple(p.shape)) for n, p in child.named_parameters())
                alike.setdefault((repr(child), sizes), []).append(int(name))
        for numbers in alike.values():
            for number in numbers if len(numbers) > 1 else ():
                replaced[f"{path}.{number}".lstrip(".")] = f"[{_ranges(numbers)}]"

    def label(path: str) -> str:
        names = path.split(".")
        prefixes = [".".join(names[: end + 1]) for end in range(len(names))]
        return ".".join(
            replaced.get(prefix, name) for prefix, name in zip(prefixes, names, strict=True)
        )

    return label


def _ranges(numbers: Sequence[int]) -> str:
    """ "0-2,5" of 0, 1, 2, 5."""
    texts: list[str] = []
    for i, number in enumerate(numbers):
        follows = i > 0 and numbers[i - 1] == number - 1
        if follows and i + 1 < len(numbers) and numbers[i + 1] == number + 1:
            continue
        texts.append(f"-{number}" if follows else f",{number}")
    return "".join(texts).lstrip(",")


def rows(shares: Mapping[str, LayerShare], peak: float) -> list[dict[str, Any]]:
    """A JSON object per label, whose times sum to the body; `peak`: floating-point operations per
    second of the Tensor engine."""
    body = sum(share.time_us for share in shares.values())
    return [
        {
            "layer": label,
            "time_ms": share.time_us / 1e3,
            "share": share.time_us / body if body else 0.0,
            "moved_mb": share.moved / 1e6,
            "gflop": 2e-9 * share.multiply_accumulates,
            "utilisation": _utilisation(share, peak),
            "bound": share.bound,
            "spent_ms": {spent: time / 1e3 for spent, time in share.path_us.items()},
        }
        for label, share in shares.items()
    ]


def _utilisation(share: LayerShare, peak: float) -> float | None:
    """None of a part that is never on the critical path."""
    if share.time_us <= 0:
        return None
    return 2 * share.multiply_accumulates / (share.time_us * 1e-6) / peak
