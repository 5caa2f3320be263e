"""torch.compile and torch.export on device tensors."""

import neuron_sim.torch_device  # noqa: F401
import pytest
import torch
from torch import nn
from torch.export.passes import move_to_device_pass


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backends_that_generate_no_host_code_work(backend):
    weight = torch.ones(3, device="neuron_sim:1", requires_grad=True)
    function = torch.compile(lambda x: (x * weight).sin().sum(), backend=backend, fullgraph=True)
    data = torch.arange(3.0, device="neuron_sim:1")
    function(data).backward()
    torch.testing.assert_close(weight.grad.cpu(), data.cpu() * data.cpu().cos())


def test_inductor_says_why_it_cannot_be_used():
    function = torch.compile(lambda x: x * 2 + 1)
    with pytest.raises(Exception, match="host cannot address.*aot_eager"):
        function(torch.ones(3, device="neuron_sim"))
    assert torch.ones(3, device="neuron_sim").sum().item() == 3


def test_exported_programs_move_to_the_device():
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval()
    data = torch.randn(2, 3)
    exported = torch.export.export(network, (data,))
    moved = move_to_device_pass(exported, "neuron_sim:1")
    found = moved.module()(data.to("neuron_sim:1"))
    torch.testing.assert_close(found.cpu(), network(data))


def test_programs_are_exported_on_the_device():
    network = nn.Linear(3, 4).to("neuron_sim")
    data = torch.randn(2, 3, device="neuron_sim")
    exported = torch.export.export(network, (data,))
    torch.testing.assert_close(exported.module()(data).cpu(), network(data).cpu())
