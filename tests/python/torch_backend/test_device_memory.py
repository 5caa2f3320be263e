"""Memory statistics, out of memory, pinned memory and the fault of a host access."""

import gc
import os
import subprocess
import sys

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE, OWN_NAME

GIB = 1 << 30


@pytest.fixture(autouse=True)
def clean_statistics():
    gc.collect()
    for index in range(device_module.device_count()):
        device_module.reset_peak_memory_stats(index)
    yield


def test_allocated_bytes_follow_the_tensors():
    before = device_module.memory_allocated(1)
    tensor = torch.empty(1000, dtype=torch.uint8, device=f"{DEVICE_TYPE}:1")
    assert device_module.memory_allocated(1) - before == 1024
    view = tensor[10:]
    del tensor
    assert device_module.memory_allocated(1) - before == 1024
    del view
    assert device_module.memory_allocated(1) == before
    assert device_module.max_memory_allocated(1) - before == 1024
    device_module.reset_peak_memory_stats(1)
    assert device_module.max_memory_allocated(1) == before


def test_the_other_device_is_not_charged():
    before = device_module.memory_allocated(0)
    kept = torch.empty(GIB, dtype=torch.uint8, device=f"{DEVICE_TYPE}:1")
    assert device_module.memory_allocated(0) == before
    free, total = device_module.mem_get_info(1)
    assert total == device_module.get_device_properties(1).total_memory
    assert free <= total - kept.nbytes


def test_statistics_agree_with_torch_accelerator():
    kept = torch.empty(4096, device=DEVICE_TYPE)
    statistics = device_module.memory_stats()
    assert statistics["allocated_bytes.all.current"] == device_module.memory_allocated()
    assert statistics["allocated_bytes.all.current"] >= kept.nbytes
    assert torch.accelerator.max_memory_allocated() == device_module.max_memory_allocated()
    device_module.reset_accumulated_memory_stats()
    assert device_module.memory_stats()["allocated_bytes.all.allocated"] == 0
    assert device_module.memory_reserved() >= device_module.memory_allocated()
    assert device_module.max_memory_reserved() >= device_module.memory_reserved()


def test_freed_blocks_are_kept_for_reuse_until_the_cache_is_emptied():
    device_module.empty_cache()
    before = device_module.memory_reserved(1)
    tensor = torch.empty(30 << 20, dtype=torch.uint8, device=f"{DEVICE_TYPE}:1")
    address = tensor.data_ptr()
    assert device_module.memory_reserved(1) - before == 30 << 20
    del tensor
    assert device_module.memory_reserved(1) - before == 30 << 20
    parts = [torch.empty(10 << 20, dtype=torch.uint8, device=f"{DEVICE_TYPE}:1") for _ in range(3)]
    assert [part.data_ptr() - address for part in parts] == [0, 10 << 20, 20 << 20]
    assert device_module.memory_reserved(1) - before == 30 << 20
    del parts
    device_module.empty_cache()
    assert device_module.memory_reserved(1) == before


def test_a_tensor_that_another_stream_uses_is_not_reused_before_that_has_ended():
    size = 1 << 26  # a segment of its own, whatever other tests left in the cache
    side = device_module.Stream()
    host = torch.empty(size, dtype=torch.uint8)
    tensor = torch.empty(size, dtype=torch.uint8, device=DEVICE_TYPE)
    address = tensor.data_ptr()
    with device_module.stream(side):
        host.copy_(tensor, non_blocking=True)  # ends in the future of the program
    tensor[3:].record_stream(side)
    del tensor
    again = torch.empty(size, dtype=torch.uint8, device=DEVICE_TYPE)
    assert again.data_ptr() != address
    device_module.synchronize()
    assert torch.empty(size, dtype=torch.uint8, device=DEVICE_TYPE).data_ptr() == address


def test_streams_have_blocks_of_their_own():
    address = torch.empty(5000, device=DEVICE_TYPE).data_ptr()
    with device_module.stream(device_module.Stream()):
        assert torch.empty(5000, device=DEVICE_TYPE).data_ptr() != address
    assert torch.empty(5000, device=DEVICE_TYPE).data_ptr() == address


def test_the_summary_shows_the_statistics():
    kept = torch.empty(3 << 20, dtype=torch.uint8, device=f"{DEVICE_TYPE}:1")
    text = device_module.memory_summary(1)
    total = device_module.get_device_properties(1).total_memory / GIB
    assert text.startswith(f"Neuron Memory Summary, Device {DEVICE_TYPE}:1: {total:.2f} GiB of HBM")
    (row,) = (line for line in text.splitlines() if line.startswith("allocated memory"))
    assert f"{device_module.memory_allocated(1) / (1 << 20):.2f} MiB" in row and kept.nbytes
    short = device_module.memory_summary(1, abbreviated=True).splitlines()
    assert short == text.splitlines()[: len(short)] and len(short) == 5


def test_statistics_have_the_names_of_the_vendors_guide():
    kept = torch.empty(3 << 20, dtype=torch.uint8, device=f"{DEVICE_TYPE}:1")
    device_module.reset_accumulated_memory_stats(1)
    before = device_module.memory_stats(1)
    other = torch.empty_like(kept)
    del other
    after = device_module.memory_stats(1)
    assert after["allocation_requests"] - before["allocation_requests"] == 1
    assert after["num_tensor_frees"] - before["num_tensor_frees"] == 1
    allocated = after["allocated_bytes"]
    assert allocated["current"] == device_module.memory_allocated(1) >= kept.nbytes
    assert allocated["peak"] == device_module.max_memory_allocated(1)
    assert allocated["allocated"] == allocated["freed"] == 3 << 20
    assert after["reserved_bytes"]["current"] == device_module.memory_reserved(1)
    assert after["active_bytes"]["current"] == after["active_bytes.all.current"]


def test_empty_cache_keeps_live_tensors():
    tensor = torch.arange(1 << 20, device=DEVICE_TYPE)
    garbage = torch.ones(1 << 22, device=DEVICE_TYPE)
    del garbage
    device_module.empty_cache()
    assert tensor[-1].item() == (1 << 20) - 1


@pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"])
def test_out_of_memory_names_the_numbers_and_leaves_everything_usable(device):
    kept = torch.arange(5, device=device)
    total = device_module.get_device_properties(device).total_memory
    most = torch.empty(total - GIB, dtype=torch.uint8, device=device)
    failures = device_module.memory_stats(device)["num_ooms"]
    with pytest.raises(torch.OutOfMemoryError, match=rf"{GIB + 1} bytes on device.*unallocated"):
        torch.empty(GIB + 1, dtype=torch.uint8, device=device)
    assert device_module.memory_stats(device)["num_ooms"] == failures + 1
    del most
    again = torch.empty(2 * GIB, dtype=torch.uint8, device=device)
    assert kept.tolist() == [0, 1, 2, 3, 4] and again.numel() == 2 * GIB


def test_a_failed_resize_changes_nothing():
    tensor = torch.arange(3.0, device=DEVICE_TYPE)
    with pytest.raises(torch.OutOfMemoryError):
        tensor.untyped_storage().resize_(1 << 50)
    assert tensor.tolist() == [0, 1, 2]


def test_memory_is_on_the_device_of_the_tensor_not_on_the_current_one():
    for make in (
        lambda: torch.arange(3, device=f"{DEVICE_TYPE}:1"),
        lambda: torch.ones(3).to(f"{DEVICE_TYPE}:1"),
        lambda: torch.randperm(9, device=f"{DEVICE_TYPE}:1"),
        lambda: torch.ones(3, device=f"{DEVICE_TYPE}:1") + 1,
        lambda: torch.linspace(0, 1, 5, device=f"{DEVICE_TYPE}:1"),
        lambda: torch.ones(2, 2, device=f"{DEVICE_TYPE}:1").nonzero(),
        lambda: torch.empty(0, device=f"{DEVICE_TYPE}:1").resize_(4),
    ):
        tensor = make()
        assert tensor.device == torch.device(f"{DEVICE_TYPE}:1")
        assert tensor.untyped_storage().device == torch.device(f"{DEVICE_TYPE}:1")


def test_pinned_memory_is_recognised():
    pinned = torch.arange(10.0).pin_memory()
    assert pinned.is_pinned() and pinned[3:].is_pinned()
    assert not torch.arange(10.0).is_pinned()
    assert torch.empty(4, pin_memory=True).is_pinned()
    assert pinned.to(DEVICE_TYPE, non_blocking=True).tolist() == list(range(10))


def test_data_loader_pins_batches():
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True, num_workers=2)
    batches = [batch for (batch,) in loader]
    assert all(batch.is_pinned() for batch in batches)
    assert torch.cat([b.to(DEVICE_TYPE) for b in batches]).tolist() == list(range(8))


def run(program: str, **environment: str) -> subprocess.CompletedProcess:
    program = "import torch, ctypes, neuron_sim.torch_device\n" + program
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **OWN_NAME, **environment},
    )


ACCESS = "ctypes.string_at(torch.ones(4, device='neuron_sim:1').data_ptr(), 1)"


def test_a_host_access_to_a_device_pointer_faults_with_one_sentence():
    result = run(ACCESS)
    assert result.returncode == -11
    assert result.stderr.count("host code accessed device pointer 0x") == 1
    assert "of device 1; the host cannot address HBM" in result.stderr


@pytest.mark.parametrize("enabled_first", [True, False])
def test_pythons_faulthandler_still_reports(enabled_first):
    if enabled_first:
        result = run(ACCESS, PYTHONFAULTHANDLER="1")
        assert "host code accessed device pointer" in result.stderr
    else:
        result = run(
            f"t = torch.ones(1, device='neuron_sim')\nimport faulthandler\n"
            f"faulthandler.enable()\n{ACCESS}"
        )
    assert result.returncode == -11
    assert "Fatal Python error: Segmentation fault" in result.stderr
    assert "string_at" in result.stderr


def test_other_faults_are_left_alone():
    result = run("torch.ones(1, device='neuron_sim')\nctypes.string_at(8, 1)")
    assert result.returncode == -11 and DEVICE_TYPE not in result.stderr


@pytest.mark.parametrize("count", ["1", "5", "16"])
def test_the_environment_sets_the_number_of_devices(count):
    result = run(
        "print(torch.neuron_sim.device_count(), torch.accelerator.device_count())\n"
        f"torch.ones(2, device='neuron_sim:{int(count) - 1}')",
        NEURON_SIM_DEVICES=count,
    )
    assert result.stdout.split() == [count, count], result.stderr


@pytest.mark.parametrize("count", ["0", "17", "two", "-1", "3x"])
def test_a_wrong_number_of_devices_is_named(count):
    result = run("torch.ones(1, device='neuron_sim')", NEURON_SIM_DEVICES=count)
    assert result.returncode == 1
    assert f"'{count}'" in result.stderr and "from 1 to 16" in result.stderr
