"""torch_xla.distributed.xla_backend: scripts import it for "xla" in torch.distributed."""

from neuron_sim.run.torch_xla.core import process_group

__all__ = ["process_group"]
