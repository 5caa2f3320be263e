"""Stands in for torch_neuronx where it is missing: scripts import it for its side effects.

`nki_jit` is `neuronxcc.nki.jit`, `nki_op` and `wrap_nki` are from `neuron_sim.nki.torch`;
the rest of the package is missing.
"""

from typing import Any

from neuron_sim.neuronxcc.nki import jit as nki_jit

__all__ = ["nki_jit"]


def __getattr__(name: str) -> Any:
    if name in ("nki_op", "wrap_nki"):
        from neuron_sim.nki import torch as operators  # needs torch

        return getattr(operators, name)
    raise AttributeError(
        f"torch_neuronx.{name} is not there: under `neuron-sim run` torch_neuronx is a stand-in "
        "for scripts that only import it."
    )
