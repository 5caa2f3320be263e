"""torch_neuronx.neuron_dynamo_backend: the backend of torch.compile."""

from neuron_sim.torch_compile.backend import compile_backend as neuron_backend

__all__ = ["neuron_backend"]
