"""Streams, events and the clock: all on simulated time."""

import threading

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE


def settle() -> None:
    for index in range(device_module.device_count()):
        device_module.synchronize(index)


def copy_time(elements: int, device: str = f"{DEVICE_TYPE}:0") -> float:
    """Seconds that a copy to an idle device takes."""
    host = torch.zeros(elements)
    settle()
    before = device_module.simulated_time(device)
    host.to(device)
    return device_module.simulated_time(device) - before


def test_a_copy_takes_a_latency_and_a_time_proportional_to_its_bytes():
    one, two, three = (copy_time(n << 20) for n in (1, 2, 3))
    assert two - one == pytest.approx(three - two, rel=1e-6)
    assert 0 < one - (two - one) < one  # the latency
    assert copy_time(0) == 0


def test_a_copy_to_the_host_takes_as_long_as_one_to_the_device():
    there = torch.zeros(1 << 20, device=DEVICE_TYPE)
    before = device_module.simulated_time()
    there.cpu()
    assert device_module.simulated_time() - before == pytest.approx(copy_time(1 << 20), rel=1e-6)


def test_a_copy_between_devices_goes_through_the_host():
    there = torch.zeros(1 << 20, device=f"{DEVICE_TYPE}:0")
    settle()
    start = device_module.simulated_time(1)
    there.to(f"{DEVICE_TYPE}:1")
    assert device_module.simulated_time(1) - start == pytest.approx(2 * copy_time(1 << 20))


def test_a_copy_within_a_device_does_not_use_the_host_link():
    there = torch.zeros(1 << 20, device=DEVICE_TYPE)
    before = device_module.simulated_time()
    torch.empty_like(there).copy_(there)
    assert 0 < device_module.simulated_time() - before < copy_time(1 << 20)


def test_the_clock_is_deterministic_and_does_not_run_by_itself():
    before = device_module.simulated_time()
    sum(range(100000))
    assert device_module.simulated_time() == before
    assert copy_time(12345) == pytest.approx(copy_time(12345), rel=1e-9)


def test_events_measure_simulated_milliseconds():
    start = device_module.Event(enable_timing=True)
    end = device_module.Event(enable_timing=True)
    start.record()
    before = device_module.simulated_time()
    torch.zeros(1 << 22).to(DEVICE_TYPE, non_blocking=True)
    end.record()
    assert end.query()
    end.synchronize()
    passed = (device_module.simulated_time() - before) * 1e3
    assert start.elapsed_time(end) == pytest.approx(passed, rel=1e-6)
    assert end.elapsed_time(start) == pytest.approx(-passed, rel=1e-6)


def test_generic_and_own_classes_mix():
    start = torch.Event(DEVICE_TYPE, enable_timing=True)
    end = device_module.Event(enable_timing=True)
    stream = torch.Stream(DEVICE_TYPE)
    stream.record_event(start)
    device_module.Stream().wait_event(start)
    stream.wait_stream(device_module.Stream())
    end.record(stream)
    assert start.elapsed_time(end) == 0
    assert isinstance(start, device_module.Event) and isinstance(stream, device_module.Stream)
    assert not isinstance(3, device_module.Event)


def test_events_without_timing_or_without_a_record_have_no_elapsed_time():
    timed, untimed = device_module.Event(enable_timing=True), device_module.Event()
    with pytest.raises(ValueError, match="recorded"):
        timed.elapsed_time(timed)
    timed.record()
    untimed.record()
    with pytest.raises(ValueError, match="enable_timing"):
        timed.elapsed_time(untimed)


def test_copies_of_opposite_directions_overlap_on_two_streams():
    up, down = device_module.Stream(), device_module.Stream()
    there = torch.zeros(1 << 22, device=DEVICE_TYPE)
    target = torch.empty(1 << 22)
    device_module.synchronize()
    start = device_module.simulated_time()
    with device_module.stream(up):
        torch.zeros(1 << 22).to(DEVICE_TYPE, non_blocking=True)
    with device_module.stream(down):
        target.copy_(there, non_blocking=True)
    both = device_module.simulated_time() - start
    assert both == pytest.approx(copy_time(1 << 22), rel=1e-6)


def test_a_stream_waits_for_an_event_of_another():
    first, second = device_module.Stream(), device_module.Stream()
    start, end = (device_module.Event(enable_timing=True) for _ in range(2))
    there = torch.zeros(1 << 22, device=DEVICE_TYPE)
    target = torch.empty(1 << 22)
    device_module.synchronize()
    with device_module.stream(first):
        start.record()
        torch.zeros(1 << 22).to(DEVICE_TYPE, non_blocking=True)
        done = first.record_event()
    second.wait_event(done)
    with device_module.stream(second):
        target.copy_(there, non_blocking=True)
        end.record()
    assert start.elapsed_time(end) == pytest.approx(2e3 * copy_time(1 << 22), rel=1e-6)


def test_streams_and_devices_are_restored():
    stream = device_module.Stream(device=1)
    assert stream.device == torch.device(f"{DEVICE_TYPE}:1")
    with device_module.stream(stream):
        assert device_module.current_device() == 1
        assert device_module.current_stream() == stream
        assert device_module.current_stream(0) == device_module.default_stream(0)
    assert device_module.current_device() == 0
    assert device_module.current_stream(1) == device_module.default_stream(1)
    with device_module.stream(None):
        assert device_module.current_device() == 0
    with stream:  # the generic way
        assert torch.accelerator.current_stream(1) == stream
    assert stream.query()
    stream.synchronize()


def test_the_current_device_and_stream_belong_to_the_thread():
    seen = []
    with device_module.device(1), device_module.stream(device_module.Stream(1)):
        thread = threading.Thread(
            target=lambda: seen.extend(
                [device_module.current_device(), device_module.current_stream(1).stream_id]
            )
        )
        thread.start()
        thread.join()
    assert seen == [0, 0]


def test_record_stream_is_accepted():
    tensor = torch.ones(2, device=DEVICE_TYPE)
    tensor.record_stream(device_module.Stream())


def test_torch_accelerator_knows_the_device():
    assert torch.accelerator.current_accelerator() == torch.device(DEVICE_TYPE)
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == device_module.device_count()
    with torch.accelerator.device_index(1):
        assert device_module.current_device() == 1
    torch.accelerator.synchronize()


def test_the_profiler_reports_simulated_device_time():
    host = torch.zeros(1 << 20)
    with torch.autograd.profiler.profile(use_device=DEVICE_TYPE, use_kineto=False) as profile:
        host.to(DEVICE_TYPE)
    longest = max(event.device_time_total for event in profile.key_averages())
    assert longest == pytest.approx(copy_time(1 << 20) * 1e6, rel=1e-3)
