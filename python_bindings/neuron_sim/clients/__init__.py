"""Makes Accelerate and Hugging Face Trainer choose the device; Lightning: `clients.lightning`."""

from neuron_sim.clients._choices import use

__all__ = ["use"]
