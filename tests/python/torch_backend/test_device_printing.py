"""Printing device tensors: the numbers of the CPU, also in strict mode, without device programs."""

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE

TENSORS = {
    "floats": torch.tensor([[1.5, -2.25, 0.0], [1e-9, 3e8, 7.0]]),
    "whole floats": torch.arange(4.0),
    "infinities": torch.tensor([float("inf"), float("-inf"), float("nan"), 1.0]),
    "bfloat16": torch.tensor([1.5, 3.0], dtype=torch.bfloat16),
    "integers": torch.tensor([3, -200, 7]),
    "flags": torch.tensor([[True], [False]]),
    "no elements": torch.zeros(0, 3),
    "one number": torch.tensor(2.5),
    "many elements": torch.arange(3000.0).view(2, 1500),
    "a view": torch.arange(12.0).view(3, 4).t()[1:],
    "double precision": torch.tensor([1.5], dtype=torch.float64),
    "complex numbers": torch.tensor([1 + 2j]),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_device_tensor_prints_as_the_tensor_on_the_host_does(name):
    host = TENSORS[name]
    shown = repr(host)[:-1].split(", dtype")[0].split(", size")[0]
    there = host.to(f"{DEVICE_TYPE}:1")
    with device_module.strict(), device_module.record_launches() as launches:
        found = repr(there)
    assert found.startswith(shown + f", device='{DEVICE_TYPE}:1'")
    assert str(there) == found
    assert launches == []


def test_printing_parameters_gradients_and_modules_changes_nothing():
    layer = torch.nn.Linear(2, 2).to(DEVICE_TYPE)
    with device_module.strict():
        assert "requires_grad=True" in repr(layer.weight)
        assert "grad_fn=<MulBackward0>" in repr(layer.weight * 2)
        assert f"device='{DEVICE_TYPE}:0'" in str(dict(layer.state_dict()))
    assert layer.weight.is_neuron_sim and layer.weight.is_leaf


def test_tensors_inside_transforms_are_printed():
    seen = []

    def watched(row):
        seen.append(repr(row))
        return row * 2

    torch.func.vmap(watched)(torch.arange(6.0).view(2, 3).to(DEVICE_TYPE))
    assert "BatchedTensor" in seen[0] and "[3., 4., 5.]" in seen[0]


def test_fake_tensors_of_the_device_show_no_numbers():
    with torch._subclasses.FakeTensorMode():
        fake = torch.empty(3, device=DEVICE_TYPE)
    assert "FakeTensor" in repr(fake) and "size=(3,)" in repr(fake)
