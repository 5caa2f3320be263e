"""Kernels on torch tensors: of the host and of the device."""

import os
import subprocess
import sys

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import neuron_sim.torch_device  # noqa: F401
import numpy as np
import pytest
import torch
from device_type import DEVICE_TYPE
from isa_harness import in_hbm

DEVICES = ["cpu", f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"]


@nki.jit
def new_sum(a, b):
    return in_hbm(nl, nl.load(a) + nl.load(b) * 2)


@old.jit
def old_sum(a, b):
    return in_hbm(old_nl, old_nl.load(a) + old_nl.load(b) * 2)


@nki.jit
def add_into(x, y):
    nl.store(y, nl.load(x) + nl.load(y))
    return y


BOTH = pytest.mark.parametrize("kernel", [new_sum, old_sum], ids=["new", "old"])


def on(device, *shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=generator).to(dtype).to(device)


@BOTH
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_results_are_of_the_inputs_kind_and_on_their_device(kernel, device, dtype):
    a, b = on(device, 5, 7, dtype=dtype), on(device, 5, 7, dtype=dtype, seed=1)
    found = kernel(a, b)
    assert found.device == a.device and found.dtype is dtype and found.shape == a.shape
    # On the chip sums are fp32 and rounded once per instruction, as torch's CPU kernels do here.
    expected = a.cpu().double() + 2 * b.cpu().double()
    tolerance = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(found.cpu().double(), expected, rtol=tolerance, atol=tolerance)


@BOTH
def test_a_device_gives_the_bytes_of_numpy(kernel):
    a, b = on("cpu", 128, 33), on("cpu", 128, 33, seed=1)
    from_numpy = kernel(a.numpy(), b.numpy())
    assert isinstance(from_numpy, np.ndarray)
    found = kernel(a.to(DEVICE_TYPE), b.to(DEVICE_TYPE))
    assert np.array_equal(found.cpu().numpy(), from_numpy)


@old.jit
def rounded_product(a, b):
    product = old_nl.matmul(old_nl.load(a), old_nl.load(b), transpose_x=True)
    rounded = old_nl.copy(product, dtype=old_nl.bfloat16)
    return in_hbm(old_nl, old_nl.add(rounded, old_nl.load(b)))


def test_a_device_rounds_as_the_kernel_says_where_the_compiler_leaves_the_rounding_out():
    # Sums of products of small integers are exact in fp32, and most are not in bf16.
    a, b = (16 * on("cpu", 128, 128)).floor(), (16 * on("cpu", 128, 64, seed=1)).floor()
    traced = rounded_product.traced(a, b)
    assert "tensor_copy" in traced.source.listing()
    assert "tensor_copy" not in traced.program.listing()
    found = rounded_product(a.to(DEVICE_TYPE), b.to(DEVICE_TYPE)).cpu()
    assert torch.equal(found, (a.T @ b).bfloat16() + b)
    assert not torch.equal(found, a.T @ b + b)
    assert np.array_equal(found.numpy(), rounded_product(a.numpy(), b.numpy()))


@BOTH
def test_a_launch_takes_the_time_of_its_program_on_the_current_stream(kernel):
    a = on(f"{DEVICE_TYPE}:1", 64, 64)
    stream = torch.Stream(device=f"{DEVICE_TYPE}:1")
    start, end = (torch.Event(device=f"{DEVICE_TYPE}:1", enable_timing=True) for _ in range(2))
    with torch.neuron_sim.record_launches() as launches, stream:
        start.record()
        kernel(a, a)
        end.record()
    expected = kernel.traced(a, a).time()["latency_us"]
    assert [(each.name, each.device) for each in launches] == [(kernel.__name__, 1)]
    assert launches[0].latency_us == pytest.approx(expected)
    torch.neuron_sim.synchronize(1)
    assert start.elapsed_time(end) * 1e3 == pytest.approx(expected, rel=1e-3)


def test_dense_inputs_are_not_copied_and_written_ones_change_in_place():
    x, y = on(f"{DEVICE_TYPE}:1", 16, 16), on(f"{DEVICE_TYPE}:1", 16, 16, seed=1)
    expected = x.cpu() + y.cpu()
    address, version = y.data_ptr(), y._version
    torch.neuron_sim.reset_peak_memory_stats(1)
    torch.neuron_sim.reset_fallback_counts()
    before = torch.neuron_sim.max_memory_allocated(1)
    found = add_into(x, y)
    assert torch.neuron_sim.max_memory_allocated(1) == before
    assert found is y and y.data_ptr() == address and y._version > version
    assert torch.neuron_sim.fallback_counts() == {}
    assert torch.equal(y.cpu(), expected)


@pytest.mark.parametrize("device", DEVICES)
def test_strided_inputs_are_read_and_written_by_their_elements(device):
    storage = on(device, 2, 12, 9)
    x, y = storage[0].t(), storage[1].t()
    kept, expected = storage[0].cpu(), (x.cpu() + y.cpu()).clone()
    add_into(x, y)
    assert torch.equal(storage[0].cpu(), kept)
    assert torch.equal(y.cpu(), expected)


@pytest.mark.parametrize("device", DEVICES)
def test_64_bit_inputs_are_narrowed(device):
    numbers = torch.arange(12, dtype=torch.int64).reshape(3, 4).to(device)
    found = new_sum(numbers, numbers)
    assert found.dtype is torch.int32
    assert torch.equal(found.cpu(), (numbers.cpu() * 3).int())


def test_memory_that_a_kernel_leaves_out_is_zero():
    @nki.jit
    def half(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out[0:2], nl.load(a[0:2]))
        return out

    for _ in range(2):
        a = on(DEVICE_TYPE, 4, 5) + 1
        assert torch.equal(half(a).cpu()[2:], torch.zeros(2, 5))
        del a


@pytest.mark.parametrize("device", DEVICES)
def test_device_print_prints_on_every_device(device, capsys):
    @nki.jit
    def kernel(x, y):
        tile = nl.load(x)
        nl.device_print("x is", tile)
        nl.store(y, tile + nl.load(y))
        return y

    x, y = on(device, 1, 2), torch.ones(1, 2).to(device)
    for calls in (1, 2):
        kernel(x, y)
        assert capsys.readouterr().out == f"x is {x.cpu().numpy()}\n"
        torch.testing.assert_close(y.cpu(), 1 + calls * x.cpu())


def test_parameters_are_taken_without_gradients_and_refused_with():
    a, weight = on(DEVICE_TYPE, 4, 4), torch.nn.Parameter(on(DEVICE_TYPE, 4, 4))
    with pytest.raises(RuntimeError, match=r"input 'b' requires grad, but a kernel has no gradie"):
        new_sum(a, weight)
    with torch.no_grad():
        assert torch.equal(new_sum(a, weight).cpu(), (a + 2 * weight).cpu())
    assert torch.equal(new_sum(a, weight.detach()).cpu(), (a + 2 * weight).detach().cpu())


def test_a_function_of_autograd_may_call_kernels():
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return new_sum(a, b)

        @staticmethod
        def backward(ctx, grad):
            return grad, 2 * grad

    a = on(f"{DEVICE_TYPE}:1", 4, 4).requires_grad_()
    b = on(f"{DEVICE_TYPE}:1", 4, 4).requires_grad_()
    Sum.apply(a, b).sum().backward()
    assert torch.equal(a.grad.cpu(), torch.ones(4, 4))
    assert torch.equal(b.grad.cpu(), 2 * torch.ones(4, 4))


def test_inputs_on_several_devices_or_of_several_kinds_are_refused():
    host, first, second = (on(device, 4, 4) for device in DEVICES)
    for a, b, where in ((host, first, f"{DEVICE_TYPE}:0"), (second, host, "cpu")):
        with pytest.raises(RuntimeError, match=f"input 'a' is on {a.device}, input 'b' on {where}"):
            new_sum(a, b)
    with pytest.raises(RuntimeError, match="all inputs must be on one device"):
        new_sum(first, second)
    for a, b in ((host, host.numpy()), (host.numpy(), host)):
        with pytest.raises(TypeError, match="is a NumPy array, but other inputs are torch tensors"):
            new_sum(a, b)


@pytest.mark.parametrize("device", DEVICES)
def test_inputs_without_elements_are_refused(device):
    empty = torch.empty(0, 4, device=device)
    with pytest.raises(ValueError, match=r"'new_sum': input 'a' of shape \[0, 4\] has no elements"):
        new_sum(empty, empty)


def test_dtypes_that_the_device_lacks_are_refused():
    a = torch.zeros(2, 2, dtype=torch.complex64, device=DEVICE_TYPE)
    with pytest.raises(TypeError, match="dtype 'complex64' is not supported by the device"):
        new_sum(a, a)


def test_sparse_tensors_are_refused():
    sparse = torch.ones(2, 2).to_sparse()
    with pytest.raises(TypeError, match="takes dense tensors"):
        new_sum(sparse, sparse)


def test_an_output_that_shares_memory_with_an_input_is_refused():
    a = on(DEVICE_TYPE, 4, 4)
    with pytest.raises(ValueError, match="output 'y' overlaps argument 'x' in memory"):
        add_into(a, a)


def test_a_kernel_for_another_architecture_is_refused():
    kernel = old.jit(old_sum.func, platform_target="trn1")
    a = on(DEVICE_TYPE, 4, 4)
    with pytest.raises(ValueError, match=f"was traced for trn1, but {DEVICE_TYPE}:0 is a trn2"):
        kernel(a, a)


def test_tensors_without_data_give_shapes_and_dtypes():
    a = torch.empty(5, 7, dtype=torch.bfloat16, device="meta")
    found = new_sum(a, a)
    assert found.is_meta and found.shape == (5, 7) and found.dtype is torch.bfloat16


def test_timing_only_launches_take_their_time():
    from neuron_sim.nki import measurement

    a = on(DEVICE_TYPE, 4, 4)
    before = torch.neuron_sim.simulated_time()
    with measurement.timing_only():
        found = new_sum(a, a)
    assert found.shape == a.shape
    assert torch.neuron_sim.simulated_time() > before


def test_kernels_import_no_torch():
    program = (
        "import sys, numpy as np, neuron_sim.nki as nki, neuron_sim.nki.language as nl\n"
        "import neuron_sim.neuronxcc.nki\n"
        "def copy(a):\n"
        "    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)\n"
        "    nl.store(out, nl.load(a))\n"
        "    return out\n"
        "nki.jit(copy)(np.ones((2, 2), np.float32))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ)
