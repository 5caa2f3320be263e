"""torch_neuronx.neuron_dynamo_backend: the backend of torch.compile, and the name of its graphs."""

from neuron_sim.torch_compile.backend import compile_backend as neuron_backend
from neuron_sim.torch_compile.metrics import get_model_name, set_model_name

__all__ = ["get_model_name", "neuron_backend", "set_model_name"]
