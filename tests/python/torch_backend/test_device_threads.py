"""Many calls, scalars and threads: values stay right, host memory and caches stay bounded."""

import gc
import resource
import threading

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE

CALLS = 10_000
GROWTH = 16 << 20  # bytes: allocators of host and threads settle within it


@pytest.fixture(autouse=True)
def fresh_cache():
    limit = device_module.kernel_cache_limit()
    device_module.clear_kernel_cache()
    yield
    device_module.set_kernel_cache_limit(limit)


def resident_bytes():
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def on_threads(work, count):
    """Runs work(0), ..., work(count - 1), each on a thread; raises what one of them raises."""
    errors = []

    def guarded(index):
        try:
            work(index)
        except BaseException as error:  # raised again by the caller
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


# Scalars


def number(i):
    return i / 8 - 3


SCALARS = {
    "x + i": lambda x, i: x + number(i), "x - i": lambda x, i: x - number(i),
    "i - x": lambda x, i: number(i) - x, "x * i": lambda x, i: x * number(i),
    "x / i": lambda x, i: x / (number(i) + 100), "i / x": lambda x, i: number(i) / (x + 10),
    "add with alpha": lambda x, i: torch.add(x, x.sin(), alpha=number(i) + 0.3),
    "sub with alpha": lambda x, i: torch.sub(x, 2.5, alpha=number(i) + 0.3),
    "in place": lambda x, i: x.clone().mul_(number(i)).add_(1.5),
    "clamp": lambda x, i: x.clamp(number(i) - 0.01, number(i) + 0.5),
    "clamp_min": lambda x, i: x.clamp_min(number(i)), "x < i": lambda x, i: x < number(i),
    "x >= i": lambda x, i: x >= number(i), "x == i": lambda x, i: x.round() == i // 16 - 2,
    "fill": lambda x, i: torch.empty_like(x).fill_(number(i)),
    "full": lambda x, i: torch.full((3, 2), number(i), device=x.device),
    "masked_fill": lambda x, i: x.masked_fill(x > 0, number(i)),
    "where": lambda x, i: torch.where(x > 0, x, number(i)),
    "addcmul": lambda x, i: torch.addcmul(x, x, x, value=number(i) + 0.3),
    "addcdiv": lambda x, i: torch.addcdiv(x, x, x + 10, value=number(i) + 0.3),
    "lerp": lambda x, i: torch.lerp(x, x + 1, number(i) / 100),
    "leaky_relu": lambda x, i: torch.nn.functional.leaky_relu(x, number(i) / 100),
    "threshold": lambda x, i: torch.nn.functional.threshold(x, number(i), 7),
    "bfloat16": lambda x, i: x.bfloat16() * number(i),
    "int32": lambda x, i: (x * 100).int() * (i - 20) + i,
    "int8": lambda x, i: (x * 10).to(torch.int8) + (i - 60),
    "uint8": lambda x, i: (x * 10).abs().to(torch.uint8) + i,
    "int32 compared": lambda x, i: (x * 10).int() > i - 20,
}  # fmt: skip


@pytest.mark.parametrize("compute", SCALARS.values(), ids=SCALARS)
def test_a_new_scalar_is_no_new_program_and_not_an_old_one(compute):
    x = torch.linspace(-4, 4, 35).view(5, 7)
    there = x.to(f"{DEVICE_TYPE}:1")
    # The first numbers may decide how an operator is computed: 0, 1, a whole number.
    for i in range(0, 48, 2):
        compute(there, i)
    before = device_module.kernel_cache_info()
    bodies = set()
    for i in range(1, 120, 2):
        with device_module.record_launches() as launches:
            found = compute(there, i)
        bodies.add(tuple((launch.name, launch.body_us, launch.dma_bytes) for launch in launches))
        expected = compute(x, i)
        torch.testing.assert_close(found.cpu(), expected, rtol=2e-2 if found.dtype ==
                                   torch.bfloat16 else 1e-5, atol=1e-5)  # fmt: skip
    after = device_module.kernel_cache_info()
    assert after.misses == before.misses and after.kernels == before.kernels
    assert after.bytes == before.bytes
    assert len(bodies) == 1  # the time is that of the same instructions


PAIRS = [
    (0.0, -0.0), (float("inf"), float("-inf")), (1e-45, 0.0), (1.0000001, 1.0), (float("nan"), 1.0),
    (3e38, 1e300),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
def test_scalars_are_told_apart_to_the_bit(pair):
    x = torch.tensor([1.0, -1.0, 0.0, 2.0])
    for scalar in (*pair, *pair):
        found = (x.to(DEVICE_TYPE) * scalar).cpu()
        assert torch.equal(found.isnan(), (x * scalar).isnan())
        assert torch.equal(found.nan_to_num(0.5).signbit(), (x * scalar).nan_to_num(0.5).signbit())
        torch.testing.assert_close(found, x * scalar, rtol=0, atol=0, equal_nan=True)


def test_a_scalar_is_that_of_its_thread_and_device():
    x = torch.arange(300.0)

    def work(index):
        there = x.to(f"{DEVICE_TYPE}:{index % 2}")
        for turn in range(150):
            scalar = index * 1000 + turn + 0.5
            assert torch.equal((there + scalar).cpu(), x + scalar)

    on_threads(work, 6)
    assert device_module.kernel_cache_info().kernels < 10


def test_scalars_inside_a_compiled_graph_are_those_of_the_call():
    torch._dynamo.reset()
    run = torch.compile(lambda x, s: (x * s).relu() + s, backend=DEVICE_TYPE, dynamic=False)
    x = torch.linspace(-2, 2, 9)
    for scalar in (2.0, 3.0, 2.0, 4.5):
        eager = (x.to(DEVICE_TYPE) * scalar).relu() + scalar
        assert torch.equal(run(x.to(DEVICE_TYPE), scalar).cpu(), eager.cpu())


# Bounds


def test_the_cache_keeps_its_limit_in_bytes():
    limit = 256 << 10
    device_module.set_kernel_cache_limit(limit)
    before = device_module.kernel_cache_info()
    for size in range(1, 400):
        x = torch.ones(size, device=DEVICE_TYPE)
        assert (x + x).sum().item() == 2 * size
        assert device_module.kernel_cache_info().bytes <= limit
    after = device_module.kernel_cache_info()
    assert after.evictions > before.evictions and 0 < after.kernels < 400
    with pytest.raises(ValueError, match="-1 bytes"):
        device_module.set_kernel_cache_limit(-1)
    device_module.set_kernel_cache_limit(0)
    assert device_module.kernel_cache_info()[2:4] == (0, 0)
    assert (x * 2).sum().item() == 2 * x.numel()


def test_ten_thousand_calls_take_no_more_memory():
    x = torch.randn(64, 64).to(DEVICE_TYPE)

    def call(i):
        (x + i * 0.125).clamp_(-i, i)
        if i % 4 == 0:
            with pytest.raises(RuntimeError):
                torch.mm(x, x[:3])
        if i % 8 == 0:
            (x @ x).softmax(1).sum().item()

    for i in range(2000):
        call(i)
    before, cache = resident_bytes(), device_module.kernel_cache_info()
    for i in range(CALLS):
        call(i)
    assert resident_bytes() - before < GROWTH
    assert device_module.kernel_cache_info().kernels == cache.kernels


def test_threads_on_all_devices_stay_right_and_bounded():
    limit = 4 << 20
    device_module.set_kernel_cache_limit(limit)
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(40, 30, generator=generator), torch.randn(30, 20, generator=generator)
    count = device_module.device_count()

    def work(index, calls=CALLS // 8):
        place = f"{DEVICE_TYPE}:{index % count}"
        there, other = a.to(place), b.to(place)
        expected = (there @ other).cpu()
        torch.testing.assert_close(expected, a @ b, rtol=1e-4, atol=1e-4)
        for turn in range(calls):
            rows = 1 + (turn * 7 + index) % 40  # other threads compile and forget these as well
            found = there[:rows] @ other
            assert found.device == torch.device(place)
            if turn % 16 == 0:
                torch.testing.assert_close(found.cpu(), expected[:rows], rtol=1e-5, atol=1e-5)
                assert torch.equal((there[:rows] * turn).cpu(), a[:rows] * turn)

    on_threads(lambda index: work(index, 300), 4)
    before = resident_bytes()
    on_threads(work, 4)
    assert resident_bytes() - before < 4 * GROWTH
    assert device_module.kernel_cache_info().bytes <= limit


def test_training_on_threads_of_all_devices_is_that_of_one():
    def trained(place):
        generator = torch.Generator().manual_seed(1)
        weight = torch.randn(8, 4, generator=generator).to(place).requires_grad_()
        data = torch.randn(16, 8, generator=generator).to(place)
        optimizer = torch.optim.Adam([weight], lr=0.1)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        for _ in range(8):
            optimizer.zero_grad()
            (data @ weight).square().mean().backward()
            optimizer.step()
            schedule.step()
        return weight.detach().cpu()

    alone = trained(f"{DEVICE_TYPE}:0")
    found = {}
    on_threads(lambda index: found.update({index: trained(f"{DEVICE_TYPE}:{index % 2}")}), 4)
    assert all(torch.equal(weight, alone) for weight in found.values())


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_new_learning_rate_compiles_nothing(optimizer):
    parameter = torch.ones(16, 16, device=DEVICE_TYPE, requires_grad=True)
    optimizer = getattr(torch.optim, optimizer)([parameter], lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    misses = []
    for _ in range(6):
        parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        schedule.step()
        misses.append(device_module.kernel_cache_info().misses)
    assert misses[-1] == misses[2]
