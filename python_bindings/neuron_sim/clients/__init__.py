"""Makes Accelerate and Hugging Face Trainer choose the device; Lightning: `clients.lightning`."""

from neuron_sim.torch_backend.client_choices import use

__all__ = ["use"]
