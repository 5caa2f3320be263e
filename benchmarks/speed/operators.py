"""Rows of small operators: what a cached call costs, and a Python scalar that is new."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import Tensor

from speed.figures import Figure, ratio
from speed.sizes import Sizes
from speed.timing import alternate, seconds

OPERATORS: dict[str, tuple[Callable[..., object], tuple[Tensor, ...]]] = {
    "add": (torch.add, (torch.ones(64), torch.ones(64))),
    "mm": (torch.mm, (torch.ones(16, 16), torch.ones(16, 16))),
    "softmax": (lambda x: x.softmax(-1), (torch.ones(16, 16),)),
    "conv": (torch.nn.functional.conv2d, (torch.ones(1, 4, 8, 8), torch.ones(4, 4, 3, 3))),
    "x[idx]": (lambda x, index: x[index], (torch.ones(16, 16), torch.arange(8))),
}
"""Each with its operands on the host."""

_new_scalars = itertools.count(1)


@torch.no_grad()
def cached_operators(sizes: Sizes) -> list[Figure]:
    """Each on tensors of the device against the same on the host's."""
    figures = []
    for name, (operator, host) in OPERATORS.items():
        device = [tensor.to("neuron_sim") for tensor in host]
        works = [
            lambda operator=operator, device=device: operator(*device),
            lambda operator=operator, host=host: operator(*host),
        ]
        ours, torchs = alternate(works, sizes.repetitions, sizes.calls)
        figures.append(ratio(name, ours * 1e6, torchs * 1e6, "us"))
    return figures


@torch.no_grad()
def new_scalars(sizes: Sizes) -> list[Figure]:
    """Programs and time of x + i, when i is another number in each call."""
    x = torch.ones(64, device="neuron_sim")
    torch.add(x, next(_new_scalars))
    before = torch.neuron_sim.kernel_cache_info().misses
    first = seconds(lambda: torch.add(x, next(_new_scalars)), sizes.scalars)
    programs = torch.neuron_sim.kernel_cache_info().misses - before
    (again,) = alternate([lambda: torch.add(x, 1)], sizes.repetitions, sizes.scalars)
    return [
        Figure("new programs", programs, note=f"in {sizes.scalars} calls"),
        ratio("time", first * 1e6, again * 1e6, "us"),
    ]
