"""Stands in for torch_xla where it is missing: the few names that scripts with NKI kernels use.

Kernels take CPU tensors, so the "XLA device" is the CPU. There is no lazy graph: every operation
runs when it is called, and `sync` has nothing to wait for.
"""

from neuron_sim.run.torch_xla import core
from neuron_sim.run.torch_xla.core.xla_model import mark_step, xla_device

__all__ = ["core", "device", "sync"]

device = xla_device
sync = mark_step
