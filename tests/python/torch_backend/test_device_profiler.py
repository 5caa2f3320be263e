"""torch.profiler: device events on simulated time beside the host's, engines as lanes."""

import json
import runpy

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function

BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


def device_events(profiled):
    return [
        event
        for event in profiled.events()
        if event.device_type == DeviceType.PrivateUse1 and not event.is_user_annotation
    ]


def traced(profiled, path):
    profiled.export_chrome_trace(str(path))
    return json.loads(path.read_text())["traceEvents"]


def test_kernels_and_copies_are_events_with_their_simulated_durations():
    host = torch.randn(128, 128)
    with device_module.record_launches() as launches, profile(activities=BOTH) as profiled:
        there = host.to(DEVICE_TYPE)
        torch.ops.neuron_sim.matmul(there, there).cpu()
    found = device_events(profiled)
    assert [event.name for event in found] == [
        "Memcpy HtoD (Host -> Device)", "matmul", "Memcpy DtoH (Device -> Host)"
    ]  # fmt: skip
    kernel = found[1].time_range
    assert kernel.elapsed_us() == pytest.approx(launches[0].latency_us, abs=2e-3)
    assert kernel.start >= found[0].time_range.end - 1e-3
    assert found[2].time_range.start >= kernel.end - 1e-3


def test_device_time_is_given_to_the_operator_that_launched():
    there = torch.randn(64, 64).to(DEVICE_TYPE)
    with profile(activities=BOTH) as profiled, record_function("mine"):
        torch.ops.neuron_sim.matmul(there, there)
        torch.ops.neuron_sim.vector_add(there, there)
    rows = {row.key: row for row in profiled.key_averages()}
    kernels = [rows[name] for name in ("matmul", "vector_add")]
    total = sum(row.self_device_time_total for row in kernels)
    assert all(row.self_device_time_total > 0 for row in kernels)
    assert rows["neuron_sim::matmul"].device_time_total == pytest.approx(
        rows["matmul"].self_device_time_total
    )
    assert rows["mine"].device_time_total == pytest.approx(total)
    assert rows["mine"].cpu_time_total > 0
    expected = f"Self {DEVICE_TYPE.upper()} time total: {total:.3f}us"
    assert expected in profiled.key_averages().table()


def test_a_backward_pass_is_profiled_too():
    left = torch.randn(32, 32).to(DEVICE_TYPE).requires_grad_()
    with profile(activities=BOTH) as profiled:
        torch.ops.neuron_sim.matmul(left, left.detach()).backward(left.detach())
    assert sum(event.name.startswith("matmul") for event in device_events(profiled)) >= 2


def test_the_trace_has_lanes_of_engines_under_each_kernel(tmp_path):
    there = torch.randn(256, 256).to(DEVICE_TYPE)
    with profile(activities=BOTH) as profiled:
        torch.ops.neuron_sim.matmul(there, there)
    events = traced(profiled, tmp_path / "trace.json")
    (kernel,) = (event for event in events if event.get("cat") == "kernel")
    lanes = {
        event["tid"]: event["args"]["name"]
        for event in events
        if event.get("name") == "thread_name" and event["pid"] == kernel["pid"]
    }
    assert {"default stream", "Tensor", "DMA queue of Sync"} <= set(lanes.values())
    work = [event for event in events if event.get("cat") == "gpu_user_annotation"]
    assert {lanes[event["tid"]] for event in work} >= {"Tensor", "Vector", "DMA queue of Sync"}
    end = kernel["ts"] + kernel["dur"]
    assert all(kernel["ts"] <= event["ts"] for event in work)
    assert all(event["ts"] + event["dur"] <= end + 0.01 for event in work)


def test_quotes_and_backslashes_of_paths_and_modules_leave_the_trace_json(tmp_path):
    model = torch.nn.Sequential()
    model.add_module('a"b\\c\td', torch.nn.Linear(8, 8))
    model.to(DEVICE_TYPE)
    there = torch.randn(8, 8).to(DEVICE_TYPE)
    file = tmp_path / 'a "quoted"\\path.py'
    file.write_text("def call(f, x):\n    f(x)\n")
    names = runpy.run_path(str(file))
    with profile(activities=BOTH) as profiled:
        names["call"](model, there)
        names["call"](torch.relu, there)
    events = traced(profiled, tmp_path / "trace.json")
    kernels = [event["args"] for event in events if event.get("cat") == "kernel"]
    assert kernels[0]["module"] == "a'b/c d"  # Kineto knows no escapes
    assert kernels[-1]["source_line"] == f"{tmp_path}/a 'quoted'/path.py:2"


def test_the_last_name_of_a_device_in_time_is_its_own(tmp_path):
    with profile(activities=BOTH) as profiled:
        torch.zeros(1 << 10).to(f"{DEVICE_TYPE}:0")
        torch.zeros(1 << 10).to(f"{DEVICE_TYPE}:1")
    events = traced(profiled, tmp_path / "trace.json")
    for index in range(2):
        given = [e for e in events if e.get("name") == "process_name" and e["pid"] == index]
        # Kineto names it, too.
        assert max(given, key=lambda e: e["ts"])["args"]["name"] == f"{DEVICE_TYPE}:{index}"


def test_engine_lanes_do_not_count_as_device_time():
    there = torch.randn(256, 256).to(DEVICE_TYPE)
    with profile(activities=BOTH) as profiled:
        torch.ops.neuron_sim.matmul(there, there)
    kernels = sum(event.time_range.elapsed_us() for event in device_events(profiled))
    assert f"{DEVICE_TYPE.upper()} time total: {kernels:.3f}us" in profiled.key_averages().table()


def test_devices_and_streams_have_lanes_of_their_own(tmp_path):
    stream = device_module.Stream(device=1)
    host = torch.zeros(1 << 10)
    with profile(activities=BOTH) as profiled:
        host.to(f"{DEVICE_TYPE}:0")
        with device_module.stream(stream):
            host.to(f"{DEVICE_TYPE}:1", non_blocking=True)
    assert [event.device_index for event in device_events(profiled)] == [0, 1]
    events = traced(profiled, tmp_path / "trace.json")
    names = {e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    assert f"stream {stream.stream_id}" in names and "default stream" in names


def test_a_profile_of_the_host_alone_has_no_device_events():
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        torch.zeros(4).to(DEVICE_TYPE)
    assert device_events(profiled) == []


def test_a_schedule_profiles_its_active_steps_only():
    host = torch.zeros(4)
    seen = []
    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(
        activities=BOTH, schedule=plan, on_trace_ready=lambda p: seen.append(device_events(p))
    ) as profiled:
        for _ in range(8):
            host.to(DEVICE_TYPE)
            profiled.step()
    assert [len(events) for events in seen] == [2, 2]
