"""The device type "xla": another name of the simulated device, once torch_xla is imported."""

import io

import numpy
import pytest

torch = pytest.importorskip("torch")

from neuron_sim.run import torch_xla  # noqa: E402
from neuron_sim.run.torch_xla.amp import autocast  # noqa: E402
from neuron_sim.settings import device_name  # noqa: E402

DEVICE = torch.device(device_name(), 0)
SECOND = torch.device(device_name(), 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda device: torch.ones(2, 3, device=device),
        lambda device: torch.full((2,), 7, device=device),
        lambda device: torch.arange(5, device=device),
        lambda device: torch.eye(3, device=device),
        lambda device: torch.tensor([1.0, 2.0], device=device),
        lambda device: torch.as_tensor([1, 2], device=device),
        lambda device: torch.tril_indices(3, 3, device=device),
        lambda device: torch.zeros_like(torch.ones(2), device=device),
        lambda device: torch.from_numpy(numpy.ones(3, dtype=numpy.float32)).to(device),
        lambda device: torch.ones(2).to(device, torch.bfloat16, non_blocking=True),
        lambda device: torch.ones(2, device=device).new_zeros(3, device=device),
        lambda device: torch.empty_strided((2, 3), (1, 2), device=device).fill_(4),
    ],
)
def test_factories_and_copies_take_it_and_give_tensors_of_the_device(make):
    expected = make("cpu")
    for name, device in (("xla", DEVICE), ("xla:1", SECOND), (torch.device("xla", 0), DEVICE)):
        result = make(name)
        assert (result.device, result.dtype) == (device, expected.dtype)
        assert result.stride() == expected.stride()
        assert torch.equal(result.cpu(), expected)


def test_it_is_the_current_device_unless_it_has_an_index():
    with torch.neuron_sim.device(1):
        assert torch.ones(1, device="xla").device == torch.ones(1).to("xla").device == SECOND
        assert torch_xla.device() == SECOND and torch_xla.device(0) == DEVICE
    assert torch_xla.devices() == [DEVICE, SECOND]
    with torch.device("xla"):
        assert torch.zeros(1).device == DEVICE


def test_a_tensor_that_is_there_already_is_not_copied():
    tensor = torch.ones(2, device="xla")
    assert tensor.to("xla").data_ptr() == tensor.data_ptr()


def test_modules_move_to_it_and_gradients_come_back():
    model = torch.nn.Linear(3, 2).to("xla")
    assert {value.device for value in model.parameters()} == {DEVICE}
    assert torch.nn.Linear(3, 2, device="xla:1").weight.device == SECOND
    leaf = torch.ones(3, requires_grad=True)
    model(leaf.to("xla")).sum().backward()
    assert torch.allclose(leaf.grad, model.weight.cpu().sum(0), atol=1e-6)


def test_a_device_that_is_not_there_and_a_generator_are_refused():
    with pytest.raises(RuntimeError, match="2"):
        torch.ones(1, device="xla:2")
    with pytest.raises(RuntimeError, match="XLA generator"):
        torch.Generator(device="xla")


def test_autocast_reaches_its_operators_in_bfloat16_by_default():
    model, x = torch.nn.Linear(4, 4).to("xla"), torch.ones(2, 4, device="xla")
    with torch.autocast("xla"):
        assert model(x).dtype == torch.bfloat16
    with torch.autocast("xla", torch.float16):
        assert model(x).dtype == torch.float16
    with torch.autocast(device_type="xla", enabled=False):
        assert model(x).dtype == torch.float32
    with autocast(torch_xla.device()):
        assert model(x).dtype == torch.bfloat16
    with torch.autocast("cpu"):
        assert model(x).dtype == torch.float32


def test_files_are_loaded_onto_it():
    file = io.BytesIO()
    torch.save(torch.arange(3.0), file)
    for location, device in (("xla", DEVICE), (torch.device("xla:1"), SECOND)):
        file.seek(0)
        loaded = torch.load(file, map_location=location)
        assert loaded.device == device and loaded.tolist() == [0, 1, 2]
