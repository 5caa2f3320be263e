"""`neuron-sim model`: how long a whole model takes on a NeuronCore, with torch.compile.

Configurations are data (`configurations.json`, in the format of `transformers`); weights are
random, since times do not depend on them.
"""

DEFAULT_CONTEXT = 2048
"""Tokens for which the caches of a decoder have room."""
DEFAULT_INPUT = 128
"""Tokens of a prompt."""
