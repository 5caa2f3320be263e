"""What the tests of torch.compile(backend="neuron_sim") share."""

import neuron_sim.torch_device  # noqa: F401
import pytest
import torch
from device_type import DEVICE_TYPE


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    torch.neuron_sim.reset_compiled_graphs()
    yield
    torch._dynamo.reset()


def compiled(function, **arguments):
    return torch.compile(function, backend=DEVICE_TYPE, **arguments)


def only_graph():
    (graph,) = torch.neuron_sim.compiled_graphs()
    assert graph.not_compiled == ""
    return graph


def on_device(*shape, device=DEVICE_TYPE, seed=0, **arguments):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, **arguments).to(device)


def assert_same(found, expected):
    torch.testing.assert_close(found.cpu(), expected.cpu(), rtol=0, atol=0, equal_nan=True)
