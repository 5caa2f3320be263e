"""Device tensors and other processes, and DLPack."""

import multiprocessing

import neuron_sim.torch_device  # noqa: F401
import numpy
import pytest
import torch
import torch.multiprocessing
from device_type import DEVICE_TYPE
from torch.utils.dlpack import DLDeviceType, from_dlpack, to_dlpack


@pytest.mark.parametrize("kind", [torch.Tensor, torch.nn.Parameter])
def test_a_device_tensor_in_a_queue_is_refused_with_a_reason(kind):
    here, there = torch.multiprocessing.get_context("spawn").Pipe()
    tensor = torch.ones(3).to(f"{DEVICE_TYPE}:1")
    tensor = torch.nn.Parameter(tensor) if kind is torch.nn.Parameter else tensor
    with pytest.raises(RuntimeError, match=rf"{DEVICE_TYPE}:1 cannot be .*send tensor.cpu\(\)"):
        here.send(tensor)
    here.send(tensor.detach().cpu())
    assert there.recv().tolist() == [1, 1, 1]


def double_on_the_device(connection):
    tensor = connection.recv().to(DEVICE_TYPE)
    connection.send((tensor * 2).tolist())


def test_a_spawned_process_has_a_device_of_its_own():
    context = multiprocessing.get_context("spawn")
    torch.ones(2).to(DEVICE_TYPE)  # the parent uses the device, too
    here, there = torch.multiprocessing.get_context("spawn").Pipe()
    child = context.Process(target=double_on_the_device, args=(there,))
    child.start()
    here.send(torch.arange(3.0))
    assert here.recv() == [0, 2, 4]
    child.join()
    assert child.exitcode == 0


@pytest.mark.parametrize("exchange", [torch.from_dlpack, lambda t: from_dlpack(to_dlpack(t))])
def test_dlpack_shares_the_memory_of_a_device_tensor(exchange):
    tensor = torch.arange(6.0).to(f"{DEVICE_TYPE}:1").view(2, 3)[:, 1:]
    assert tensor.__dlpack_device__() == (DLDeviceType.kDLExtDev, 1)
    twin = exchange(tensor)
    assert twin.device == tensor.device and twin.stride() == tensor.stride()
    twin[0, 0] = 9
    assert tensor.tolist() == [[9, 2], [4, 5]]


def test_dlpack_of_host_tensors_is_as_before():
    assert torch.ones(2).__dlpack_device__() == (DLDeviceType.kDLCPU, 0)
    with pytest.raises((BufferError, RuntimeError), match="[Uu]nsupported device"):  # NumPy's class
        numpy.from_dlpack(torch.ones(2).to(DEVICE_TYPE))


def test_lazy_clones_stay_shared_where_the_cpu_only_reads():
    x = torch.rand(4, dtype=torch.float64, device=DEVICE_TYPE)
    clone = torch._lazy_clone(x)
    assert torch.equal(torch.special.bessel_y0(clone).cpu(), torch.special.bessel_y0(x.cpu()))
    assert torch._C._is_cow_tensor(clone) and torch._C._is_cow_tensor(x)


@pytest.mark.parametrize("write", [
    lambda x, clone: torch.special.bessel_y0(x, out=clone),
    lambda x, clone: torch.special.bessel_y0(clone, out=clone),
    lambda x, clone: torch.nn.functional.batch_norm(
        x.expand(3, 4) * 2, clone, torch.ones_like(x), training=True
    ),
])  # fmt: skip
def test_what_the_cpu_writes_is_written_to_one_of_two_lazy_clones(write):
    check_lazy_clone(write, torch.float64)


WRITES = {
    "add_": lambda x, clone: clone.add_(1),
    "a view": lambda x, clone: clone[1:].add_(1),
    "copy_": lambda x, clone: clone.copy_(x + 1),
    "copy_ from the host": lambda x, clone: clone.copy_(torch.ones(4)),
    "an element": lambda x, clone: clone.__setitem__(1, 9.0),
    "out": lambda x, clone: torch.add(x, 1, out=clone),
    "mv": lambda x, clone: torch.mv(torch.ones(4, 4, device=DEVICE_TYPE), clone, out=clone),
    "sort": lambda x, clone: torch.sort(
        x + 1, out=(clone, torch.empty(4, dtype=torch.int64, device=DEVICE_TYPE))
    ),
    "scatter_": lambda x, clone: clone.scatter_(0, torch.tensor([0], device=DEVICE_TYPE), 5.0),
    "instance_norm": lambda x, clone: torch.nn.functional.instance_norm(
        x.expand(3, 5, 4).mT * 2, clone, torch.ones_like(x), use_input_stats=True
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_a_kernel_writes_is_written_to_one_of_two_lazy_clones(name):
    check_lazy_clone(WRITES[name], torch.float32)


def check_lazy_clone(write, dtype):
    x = torch.rand(4, dtype=dtype, device=DEVICE_TYPE)
    clone = torch._lazy_clone(x)
    before = x.cpu()
    write(x, clone)
    assert torch.equal(x.cpu(), before)
    assert not torch.equal(clone.cpu(), before)
    assert not torch._C._is_cow_tensor(clone)


def test_a_new_result_is_no_view_below_autograd():
    x = torch.rand(4, dtype=torch.float64, device=DEVICE_TYPE)
    with torch._C._AutoDispatchBelowAutograd():
        result = torch.where(x > 0.5, x, -x)
    assert not result._is_view()
