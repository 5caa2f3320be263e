"""Stands in for torch_neuronx where it is missing: scripts import it for its side effects.

`nki_jit` is `neuronxcc.nki.jit`; everything else of the package is not there.
"""

from neuron_sim.neuronxcc.nki import jit as nki_jit

__all__ = ["nki_jit"]


def __getattr__(name: str):
    raise AttributeError(
        f"torch_neuronx.{name} is not there: under `neuron-sim run` torch_neuronx is a stand-in "
        "for scripts that only import it."
    )
