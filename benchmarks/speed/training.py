"""The row of training: one optimiser update of three networks, eager and compiled."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from speed import catalogue
from speed.figures import Figure, ratio
from speed.sizes import Sizes
from speed.timing import Work, alternate


def _perceptron() -> tuple[nn.Module, Tensor]:
    return catalogue.perceptron(), catalogue.normal(64, 128)


def _gpt2() -> tuple[nn.Module, Tensor]:
    # Here, because transformers takes seconds and no other network needs it.
    from zoo.catalogue import gpt2

    return gpt2(), catalogue.tokens().reshape(2, 32)


def _residual() -> tuple[nn.Module, Tensor]:
    blocks = [catalogue.Residual(32) for _ in range(4)]
    return nn.Sequential(nn.Conv2d(3, 32, 3), *blocks), catalogue.normal(2, 3, 32, 32)


NETWORKS: Mapping[str, Callable[[], tuple[nn.Module, Tensor]]] = {
    "perceptron": _perceptron,
    "gpt2": _gpt2,
    "residual": _residual,
}


def _update(network: nn.Module, inputs: Tensor, compiled: bool = False) -> Work:
    """One update by AdamW towards zeros."""
    optimiser = torch.optim.AdamW(network.parameters())
    forward = torch.compile(network, backend="neuron_sim") if compiled else network

    def update() -> None:
        result = forward(inputs)
        output = getattr(result, "logits", result)
        optimiser.zero_grad()
        (output * output).mean().backward()
        optimiser.step()

    return update


def training(sizes: Sizes) -> list[Figure]:
    """Each network on the device, eager and compiled, against the host's, eager."""
    figures = []
    torch._dynamo.reset()
    for name, build in NETWORKS.items():
        torch.manual_seed(0)
        network, inputs = build()
        copies = [copy.deepcopy(network).to("neuron_sim") for _ in range(2)]
        moved = inputs.to("neuron_sim")
        works = [
            _update(copies[0].train(), moved),
            _update(copies[1].train(), moved, compiled=True),
            _update(network.train(), inputs),
        ]
        eager, compiled, torchs = (each * 1e3 for each in alternate(works, sizes.repetitions))
        figures.append(ratio(f"{name}, eager", eager, torchs, "ms"))
        figures.append(ratio(f"{name}, compiled", compiled, torchs, "ms"))
    return figures
