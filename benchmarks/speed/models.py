"""Rows of many small models and of recurrent ones: eager, recorded and compiled calls."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence

import torch
from torch import nn

from speed import catalogue
from speed.catalogue import Inputs
from speed.figures import Figure, ratio
from speed.networks import compiled_call
from speed.sizes import Sizes
from speed.timing import Work, alternate

SLOWEST = 5
WAYS = ("eager", "recorded", "compiled")

Times = dict[str, dict[str, tuple[float, float]]]
"""Of each way and model: seconds of a call, and of what it is compared with."""


def _works(network: nn.Module, inputs: Inputs) -> list[Work]:
    """A call on the device, the same recorded, the same compiled, the host's."""
    device = copy.deepcopy(network).to("neuron_sim")
    moved = {name: each.to("neuron_sim") for name, each in inputs.items()}

    def recorded() -> None:
        with torch.neuron_sim.record_launches():
            device(**moved)

    return [
        lambda: device(**moved),
        recorded,
        compiled_call(device, **moved),
        lambda: network(**inputs),
    ]


@torch.no_grad()
def _times(network: nn.Module, inputs: Inputs, sizes: Sizes) -> dict[str, tuple[float, float]]:
    """Compiled and eager calls against the host's, recorded ones against unrecorded ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager, recorded, compiled, host = alternate(_works(network, inputs), sizes.repetitions)
    return dict(zip(WAYS, ((eager, host), (recorded, eager), (compiled, host)), strict=True))


def small_models(sizes: Sizes) -> list[Figure]:
    """Each model of the catalogue; the median of the ratios and the slowest five."""
    found: Times = {way: {} for way in WAYS}
    for name, network, inputs in catalogue.models(sizes):
        for way, pair in _times(network, inputs, sizes).items():
            found[way][name] = pair
    figures = [Figure("models", len(found["eager"]))]
    for way, times in found.items():
        order = sorted(times.items(), key=lambda entry: entry[1][0] / entry[1][1])
        figures += _middle_and_slowest(way, order)
    return figures


def _middle_and_slowest(way: str, order: Sequence[tuple[str, tuple[float, float]]]) -> list[Figure]:
    slowest = ", ".join(f"{name} {ours / other:.2f}" for name, (ours, other) in order[-SLOWEST:])
    median, last = order[len(order) // 2], order[-1]
    pairs = (("median", median, median[0]), ("slowest", last, slowest))
    return [
        ratio(f"{way}, {which}", each[1][0] * 1e3, each[1][1] * 1e3, "ms", note)
        for which, each, note in pairs
    ]


def recurrent_models(sizes: Sizes) -> list[Figure]:
    """Two layers of LSTM and of GRU over 64 tokens."""
    figures = []
    for name in ("lstm", "gru"):
        _, network, inputs = catalogue.built(name)
        times = _times(network, inputs, sizes)
        for way in ("eager", "compiled"):
            ours, host = times[way]
            figures.append(ratio(f"{name}, {way}", ours * 1e3, host * 1e3, "ms"))
    return figures
