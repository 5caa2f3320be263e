"""The operator that a module of `torch_neuronx.trace` calls. torch.jit.load finds it after the
import."""

from __future__ import annotations

from typing import Any

import torch

_library = torch.library.Library("neuron_sim_traced", "FRAGMENT")
_library.define(
    "model(Tensor model, Tensor dynamic_batching, Tensor[] weights, Tensor[] inputs) -> Tensor[]"
)


def _run(*arguments: Any) -> list[torch.Tensor]:
    from neuron_sim.run.torch_neuronx.xla_impl import traced_models  # imports TorchDynamo

    return traced_models.run(*arguments)


_library.impl("model", _run, "CompositeExplicitAutograd")
