"""A model with a small NKI kernel as one of its modules; `neuron-sim model` takes it by name."""

import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import torch
from neuron_sim.nki.torch import nki_op
from torch import nn

ROWS, WIDTH = 32, 96
"""Of what the kernel reads and writes, in float32."""


@nki.jit
def squared_relu(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.maximum(nl.load(x), 0.0)
    nl.store(out, tile * tile)
    return out


activation = nki_op("model_with_kernel_test::squared_relu", squared_relu)


class Activation(nn.Module):
    def forward(self, x):
        return activation(x)


def build():
    """The model, whose module "1" is the kernel, and its arguments."""
    layers = [nn.Linear(64, WIDTH), Activation(), nn.Linear(WIDTH, 64)]
    return nn.Sequential(*layers), (torch.ones(ROWS, 64),)
