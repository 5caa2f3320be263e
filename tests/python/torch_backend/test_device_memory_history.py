"""Snapshots of the devices' memory, which torch's viewer reads and which agree with statistics."""

import gc
import os
import pickle

import neuron_sim.torch_device  # noqa: F401 - registers
import pytest
import torch
from device_type import DEVICE_TYPE
from torch.cuda import _memory_viz

device_module = torch.neuron_sim
memory = device_module.memory
MIB = 1 << 20


@pytest.fixture(autouse=True)
def no_history():
    gc.collect()
    device_module.empty_cache()
    yield
    memory._record_memory_history(None, clear_history=True)


def events(device=1):
    return memory._snapshot()["device_traces"][device]


def allocate(size=3 * MIB):
    return torch.empty(size, dtype=torch.uint8, device=f"{DEVICE_TYPE}:1")


def test_segments_have_the_bytes_of_the_statistics():
    kept = [allocate(), allocate(1000), allocate(30 * MIB)]
    del kept[0]
    statistics = device_module.memory_stats(1)
    segments = memory._snapshot(1)["segments"]
    assert {segment["device"] for segment in segments} == {1}
    for name, key in (
        ("reserved_bytes", "total_size"),
        ("allocated_bytes", "allocated_size"),
        ("active_bytes", "active_size"),
        ("requested_bytes", "requested_size"),
    ):
        total = sum(segment[key] for segment in segments)
        assert total == statistics[f"{name}.all.current"]
    assert segments == [each for each in device_module.memory_snapshot() if each["device"] == 1]
    for segment in segments:
        assert sum(block["size"] for block in segment["blocks"]) == segment["total_size"]
    blocks = {block["address"]: block for each in segments for block in each["blocks"]}
    for tensor in kept:
        block = blocks[tensor.data_ptr()]
        assert (block["state"], block["requested_size"]) == ("active_allocated", tensor.nbytes)


def test_history_has_every_event_with_the_line_of_the_script():
    memory._record_memory_history()
    tensor = allocate()
    address = tensor.data_ptr()
    del tensor
    device_module.empty_cache()
    actions = ["segment_alloc", "alloc", "free_requested", "free_completed", "segment_free"]
    assert [event["action"] for event in events()] == actions
    assert events(0) == []
    assert {event["addr"] for event in events()} == {address}
    assert [event["size"] for event in events()] == [20 * MIB] + [3 * MIB] * 3 + [20 * MIB]
    for event in events():
        assert any(frame["filename"] == __file__ for frame in event["frames"])
        assert {"filename", "line", "name"} <= event["frames"][0].keys()
    with pytest.raises(torch.OutOfMemoryError):
        allocate(1 << 40)
    failed = events()[-1]
    assert (failed["action"], failed["size"]) == ("oom", 1 << 40)
    assert failed["device_free"] == device_module.mem_get_info(1)[0]


def test_times_of_events_are_simulated():
    x = torch.ones(1024, 1024, device=f"{DEVICE_TYPE}:1")
    memory._record_memory_history()
    kept = [allocate(), x @ x]
    device_module.synchronize(1)
    kept.append(allocate())
    times = [event["time_us"] for event in events(1) if event["action"] == "alloc"]
    assert times[-1] == int(device_module.simulated_time(1) * 1e6)
    assert times[-1] > times[0]


@pytest.mark.parametrize(
    ("options", "allocations", "frees", "blocks"),
    [
        ({}, True, True, True),
        ({"context": "alloc"}, True, False, True),
        ({"context": "state"}, True, False, True),
        ({"context": None}, False, False, False),
        ({"enabled": "state"}, None, None, True),
        ({"device": 0}, None, None, False),
        ({"device": f"{DEVICE_TYPE}:1", "stacks": "python"}, True, True, True),
    ],
)
def test_options_choose_what_is_kept(options, allocations, frees, blocks):
    memory._record_memory_history(**options)
    kept = allocate()
    del kept
    kept = allocate(MIB)
    stacks = {event["action"]: bool(event["frames"]) for event in events()}
    assert stacks.get("alloc") is allocations
    assert stacks.get("free_requested") is frees
    blocks_of_device = [b for each in memory._snapshot(1)["segments"] for b in each["blocks"]]
    (block,) = (each for each in blocks_of_device if each["address"] == kept.data_ptr())
    assert bool(block["frames"]) is blocks


def test_the_last_events_are_kept():
    memory._record_memory_history(max_entries=2)
    allocate()
    assert [event["action"] for event in events()] == ["free_requested", "free_completed"]
    memory._record_memory_history(None)
    allocate()
    assert len(events()) == 2
    memory._record_memory_history(None, clear_history=True)
    assert events() == []


def test_torchs_viewer_reads_a_dumped_snapshot(tmp_path):
    memory._record_memory_history()
    kept = [allocate(), allocate(1000)]
    del kept[0]
    path = tmp_path / "snapshot.pickle"
    memory._dump_snapshot(os.fspath(path))
    snapshot = pickle.loads(path.read_bytes())
    assert snapshot == memory._snapshot()
    assert f"segments: {len(snapshot['segments'])}\n" in _memory_viz.segsum(snapshot)
    trace = _memory_viz.trace(snapshot)
    assert "Device 1 ----------------" in trace
    assert "alloc(" in trace.partition("Device 1 ")[2]
    assert "allocate" in _memory_viz.memory(snapshot, format_flamegraph=str)
    assert "<!DOCTYPE html>" in _memory_viz.trace_plot(snapshot)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"enabled": "some"}, "'enabled' is 'some', not one of None, 'state', 'all'."),
        ({"context": "free"}, "'context' is 'free', not one of None, 'state', 'alloc', 'all'."),
        ({"stacks": "cpp"}, "'stacks' is 'cpp', not one of 'python', 'all'."),
        ({"max_entries": 0}, "'max_entries' is 0, below 1."),
        ({"device": "cpu"}, f"expected a {DEVICE_TYPE} device, got cpu"),
    ],
)
def test_wrong_options_are_named(options, text):
    with pytest.raises(ValueError) as error:
        memory._record_memory_history(**options)
    assert str(error.value).endswith(text)
