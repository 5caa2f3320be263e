"""Functions of torch.neuron_sim on the current stream, and the legacy tensor types."""

import neuron_sim.torch_device  # noqa: F401 - registers
import pytest
import torch
from device_type import DEVICE_TYPE
from neuron_sim.torch_backend.tensor_types import DTYPES

device_module = torch.neuron_sim


def ends_after(call):
    """By how much the device's clock advances, in seconds."""
    device_module.synchronize()
    before = device_module.simulated_time()
    call()
    return device_module.simulated_time() - before


def test_the_current_stream_waits_for_another_stream_and_for_an_event():
    side = device_module.Stream()
    for wait in (
        lambda: device_module.wait_stream(side),
        lambda: device_module.wait_event(side.record_event()),
    ):
        device_module.synchronize()
        start = device_module.record_event(device_module.Event(enable_timing=True))
        with device_module.StreamContext(side):
            device_module._sleep(960_000)
        before, after = (device_module.Event(enable_timing=True) for _ in range(2))
        assert device_module.record_event(before) is before
        wait()
        device_module.record_event(after)
        assert start.elapsed_time(before) == 0
        assert start.elapsed_time(after) == pytest.approx(1)
    assert device_module.query() is True
    assert isinstance(device_module.record_event(), torch.Event)


def test_sleep_takes_cycles_of_the_vector_engine():
    seconds = ends_after(lambda: device_module._sleep(960_000))
    assert seconds == pytest.approx(1e-3, rel=1e-6)  # 0.96 GHz on trn2
    assert ends_after(lambda: device_module._sleep(0)) == 0
    with pytest.raises(ValueError, match="'cycles' is -1 and must not be negative"):
        device_module._sleep(-1)


@pytest.mark.parametrize("name", DTYPES)
def test_a_tensor_type_makes_and_knows_tensors_of_its_dtype(name):
    kind = getattr(device_module, name)
    assert getattr(device_module, name) is kind
    tensor = kind([1, 0, 1])
    assert (tensor.dtype, tensor.device.type) == (DTYPES[name], DEVICE_TYPE)
    assert tensor.tolist() == [1, 0, 1]
    assert isinstance(tensor, kind)
    assert not isinstance(tensor.cpu(), kind)
    assert [isinstance(tensor, getattr(device_module, other)) for other in DTYPES].count(True) == 1
    assert (kind().shape, kind(2, 3).shape, kind(torch.Size([4])).shape) == ((0,), (2, 3), (4,))
    assert tensor.type() == kind.__name__
    assert torch.ones(2).type(kind).dtype == DTYPES[name]


def test_a_tensor_type_copies_a_tensor():
    source = torch.ones(2, device=DEVICE_TYPE)
    copy = device_module.FloatTensor(source)
    copy.zero_()
    assert source.tolist() == [1, 1]
