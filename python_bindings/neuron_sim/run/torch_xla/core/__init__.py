"""torch_xla.core: see the package."""

from neuron_sim.run.torch_xla.core import xla_model

__all__ = ["xla_model"]
