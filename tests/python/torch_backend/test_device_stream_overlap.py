"""What overlaps in simulated time: programs of two devices, copies beside programs; never two
programs of one core."""

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE

PLACES = pytest.mark.parametrize("index", [0, 1])


@pytest.fixture(autouse=True)
def settled():
    """Every test starts when all devices are idle."""
    for index in range(device_module.device_count()):
        device_module.synchronize(index)
    with device_module.strict():
        yield


def spans_of(launches):
    return [(launch.device, launch.start_us, launch.end_us) for launch in launches]


def matrix(index, rows=256):
    tensor = torch.ones(rows, rows).to(f"{DEVICE_TYPE}:{index}")
    for each in range(device_module.device_count()):
        device_module.synchronize(each)
    return tensor


def copy_time(elements, index):
    host = torch.zeros(elements)
    device_module.synchronize(index)
    before = device_module.simulated_time(index)
    host.to(f"{DEVICE_TYPE}:{index}")
    device_module.synchronize(index)
    return 1e6 * (device_module.simulated_time(index) - before)


@PLACES
def test_programs_of_one_core_never_overlap_on_whatever_streams(index):
    x = matrix(index)
    streams = [device_module.Stream(index) for _ in range(3)]
    with device_module.record_launches() as launches:
        for stream in streams:
            with device_module.stream(stream):
                x @ x
    spans = sorted(spans_of(launches), key=lambda span: span[1])
    assert len(spans) == 3
    assert all(a[2] <= b[1] + 1e-6 for a, b in zip(spans, spans[1:], strict=False))


def test_programs_of_two_devices_overlap():
    first, second = matrix(0), matrix(1)
    with device_module.record_launches() as launches:
        first @ first
        second @ second
    (a, start_a, end_a), (b, start_b, end_b) = spans_of(launches)
    assert (a, b) == (0, 1)
    assert start_a == pytest.approx(start_b) and end_a == pytest.approx(end_b)


@PLACES
def test_a_copy_on_another_stream_overlaps_a_program(index):
    x = matrix(index, 1024)
    elements = 1 << 16
    alone = copy_time(elements, index)
    stream = device_module.Stream(index)
    start = 1e6 * device_module.simulated_time(index)
    with device_module.record_launches() as launches:
        x @ x
        with device_module.stream(stream):
            done = [device_module.Event(enable_timing=True) for _ in range(2)]
            done[0].record(stream)
            torch.zeros(elements).to(x.device, non_blocking=True)
            done[1].record(stream)
    program = launches[0].latency_us
    assert done[0].elapsed_time(done[1]) * 1e3 == pytest.approx(alone, rel=1e-3)
    end = 1e6 * device_module.simulated_time(index)
    assert end - start == pytest.approx(max(program, alone), rel=1e-2)


@PLACES
def test_a_copy_on_the_same_stream_waits_for_the_program(index):
    x = matrix(index, 1024)
    elements = 1 << 16
    alone = copy_time(elements, index)
    start = 1e6 * device_module.simulated_time(index)
    with device_module.record_launches() as launches:
        x @ x
        torch.zeros(elements).to(x.device, non_blocking=True)
    end = 1e6 * device_module.simulated_time(index)
    assert end - start == pytest.approx(launches[0].latency_us + alone, rel=1e-2)


@PLACES
def test_a_program_waits_for_an_event_of_the_stream_that_copies(index):
    x = matrix(index)
    device = f"{DEVICE_TYPE}:{index}"
    stream = device_module.Stream(index)
    with device_module.record_launches() as launches:
        x @ x  # compiled, and not waiting
        device_module.synchronize(index)
        with device_module.stream(stream):
            torch.zeros(1 << 20).to(device, non_blocking=True)
            copied = stream.record_event()
        x @ x
        device_module.current_stream(index).wait_event(copied)
        x @ x
    free, waiting = launches[1:]
    assert waiting.start_us >= free.start_us + copy_time(1 << 20, index) * 0.99
    assert free.latency_us == pytest.approx(waiting.latency_us)


def test_a_device_waits_for_an_event_of_another():
    first, second = matrix(0), matrix(1)
    with device_module.record_launches() as launches:
        for _ in range(3):
            first @ first
        done = device_module.current_stream(0).record_event()
        device_module.current_stream(1).wait_event(done)
        second @ second
    assert launches[3].start_us >= launches[2].end_us - 1e-6


@PLACES
def test_events_time_programs_of_their_stream(index):
    x = matrix(index)
    stream = device_module.Stream(index)
    events = [torch.Event(f"{DEVICE_TYPE}:{index}", enable_timing=True) for _ in range(3)]
    with device_module.record_launches() as launches, stream:
        stream.record_event(events[0])
        x @ x
        stream.record_event(events[1])
        x @ x
        stream.record_event(events[2])
    assert events[0].elapsed_time(events[1]) * 1e3 == pytest.approx(launches[0].latency_us)
    assert events[0].elapsed_time(events[2]) * 1e3 == pytest.approx(
        launches[0].latency_us + launches[1].latency_us
    )


@PLACES
def test_waiting_for_a_stream_is_not_waiting_for_the_device(index):
    x = matrix(index)
    quick, slow = device_module.Stream(index), device_module.Stream(index)
    with device_module.stream(slow):
        torch.zeros(1 << 22).to(x.device, non_blocking=True)
    with device_module.record_launches() as launches:
        with device_module.stream(quick):
            x @ x
        quick.synchronize()
        y = x @ x
    assert launches[1].start_us < launches[0].end_us + copy_time(1 << 22, index) / 2
    assert torch.equal(y.cpu(), torch.full((256, 256), 256.0))


@PLACES
def test_gradients_run_on_the_streams_of_their_forward_pass(index):
    x = matrix(index).requires_grad_()
    stream = device_module.Stream(index)
    with torch.autograd.profiler.profile(use_kineto=False), device_module.stream(stream):
        loss = (x @ x).sum()
    seen = []
    loss.grad_fn.register_hook(
        lambda *_: seen.append(device_module.current_stream(index).stream_id)
    )
    loss.backward()
    assert seen == [stream.stream_id]
    assert torch.equal(x.grad.cpu(), torch.full((256, 256), 512.0))
