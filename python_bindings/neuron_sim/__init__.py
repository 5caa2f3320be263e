"""neuron_sim: a functional and timing simulator of AWS NeuronCores.

Importing this package imports neither torch nor anything else that is heavy. PyTorch finds the
device by itself (`torch.ones(3, device="neuron_sim")` needs no import); with
`TORCH_DEVICE_BACKEND_AUTOLOAD=0`, `import neuron_sim.torch_device` registers it.
"""

from neuron_sim._registration import autoload as _autoload  # entry point of group torch.backends

__all__ = ["_autoload"]
