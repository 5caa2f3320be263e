"""Timing without bytes: sizes, places and times as with bytes, and no values."""

import resource

import pytest
import torch
from device_type import DEVICE_TYPE

GIB = 1 << 30


@pytest.fixture
def timing():
    with torch.neuron_sim.timing_only():
        yield


def launches_of(step):
    with torch.neuron_sim.record_launches() as launches:
        step()
    return [(launch.name, launch.body_us, launch.dma_bytes) for launch in launches]


def network(device):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 10), torch.nn.Softmax(-1)
    ).to(device)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"])
def test_a_network_takes_the_time_that_it_takes_with_bytes(compiled, device):
    def times():
        module = network(device)
        call = torch.compile(module, backend=DEVICE_TYPE) if compiled else module
        x = torch.ones(5, 64, device=device)
        with torch.no_grad():
            call(x)
            return launches_of(lambda: call(x))

    expected = times()
    with torch.neuron_sim.timing_only():
        assert times() == expected
    assert sum(body for _, body, _ in expected) > 0


@pytest.mark.parametrize(
    "read",
    [lambda t: t.cpu(), lambda t: t[0].item(), lambda t: t.tolist(), repr, lambda t: bool(t[0])],
)
def test_reading_a_value_is_an_error_inside_and_afterwards(read):
    sentence = r"made inside torch.neuron_sim.timing_only\(\) has sizes but no bytes"
    with torch.neuron_sim.timing_only():
        tensor = torch.ones(3, device=DEVICE_TYPE) + 1
        with pytest.raises(RuntimeError, match=sentence):
            read(tensor)
    with pytest.raises(RuntimeError, match=sentence):
        read(tensor)


def test_a_kernel_afterwards_does_not_take_a_tensor_without_bytes():
    with torch.neuron_sim.timing_only():
        tensor = torch.ones(3, device=DEVICE_TYPE)
    with pytest.raises(RuntimeError, match="no bytes"):
        _ = tensor + 1


def test_tensors_from_before_keep_their_bytes_and_can_be_read():
    tensor = torch.arange(4.0, device=DEVICE_TYPE)
    with torch.neuron_sim.timing_only():
        tensor.add_(1)
        assert tensor.tolist() == [0, 1, 2, 3]
    assert (tensor + 1).tolist() == [1, 2, 3, 4]


def test_a_graph_compiled_without_bytes_is_compiled_again_with_them():
    step = torch.compile(lambda x: torch.relu(x) * 2, backend=DEVICE_TYPE)
    with torch.neuron_sim.timing_only():
        step(torch.ones(3, device=DEVICE_TYPE))
    assert step(torch.tensor([-1.0, 2.0, 3.0], device=DEVICE_TYPE)).tolist() == [0, 4, 6]


def test_the_switch_is_off_after_an_error():
    with pytest.raises(KeyError), torch.neuron_sim.timing_only():
        raise KeyError
    assert not torch.neuron_sim.is_timing_only()


def test_large_weights_take_hbm_and_no_host_memory(timing):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    allocated = torch.neuron_sim.memory_allocated()
    meta = torch.nn.Linear(1 << 15, 1 << 16, dtype=torch.bfloat16, device="meta")
    weights = meta.to_empty(device=DEVICE_TYPE)
    assert torch.neuron_sim.memory_allocated() - allocated == 4 * GIB + (2 << 16)
    with torch.no_grad():
        y = weights(torch.empty(1, 1 << 15, dtype=torch.bfloat16, device=DEVICE_TYPE))
    assert y.shape == (1, 1 << 16)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10


def test_hbm_is_full_when_it_would_be_with_bytes(timing):
    total = torch.neuron_sim.get_device_properties().total_memory
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(total + 1, dtype=torch.uint8, device=DEVICE_TYPE)


def test_index_arithmetic_and_rows_by_index_have_their_sizes(timing):
    indices = torch.tensor([5, 99], device=DEVICE_TYPE) + 1  # 100 is no row: nobody looks
    table = torch.empty(7, 3, device=DEVICE_TYPE)
    assert torch.nn.functional.embedding(indices, table).shape == (2, 3)
    assert table.index_copy_(0, indices, torch.ones(2, 3, device=DEVICE_TYPE)).shape == (7, 3)
    assert torch.cat([indices, indices]).unsqueeze(0).to(torch.int32).shape == (1, 4)


def test_sizes_that_depend_on_values_are_refused(timing):
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.nonzero(torch.ones(3, device=DEVICE_TYPE))


def test_an_operator_on_the_host_has_its_transfers(timing):
    torch.neuron_sim.reset_fallback_counts()
    found, _ = torch.linalg.inv_ex(torch.empty(4, 4, device=DEVICE_TYPE))
    assert found.shape == (4, 4) and found.device.type == DEVICE_TYPE
    assert sum(fallback.bytes_moved for fallback in torch.neuron_sim.fallbacks()) >= 2 * 4 * 16
