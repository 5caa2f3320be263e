"""A host without memory: an error of its class, and the next call works."""

import pytest
from faults import run_apart

LIMITED = """
import resource
def address_space():
    with open("/proc/self/statm") as file: return int(file.read().split()[0]) * 4096
def deepen(calls): calls and sorted([0], key=lambda _: deepen(calls - 1))
def limit(extra):
    # The stack counts, too, and a stack that cannot grow ends the process: 1 MiB beforehand.
    deepen(300)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + (extra << 20), -1))
def unlimited():
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
def attempt(action):
    try:
        action()
        return "works"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""

KERNEL = (
    LIMITED
    + """
import numpy as np, neuron_sim.nki as nki, neuron_sim.nki.language as nl, neuron_sim.nki.isa as nisa
@nki.jit
def kernel(a, repeats=1):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(a.shape[0] // 128):
        nisa.dma_copy(dst=t, src=a[i * 128 : (i + 1) * 128])
        nisa.dma_copy(dst=out[i * 128 : (i + 1) * 128], src=t)
    for i in range(repeats - 1):  # neighbours differ: equal ones share their operands
        width = 1 + i % 512
        nisa.dma_copy(dst=t[:, :width], src=a[0:128, :width])
    return out
small = np.ones((128, 512), np.float32)
large = np.ones((128 * 1024, 512), np.float32)
"""
)


@pytest.mark.parametrize("extra", (0, 20, 100, 300))
def test_a_kernel_without_memory_is_a_memory_error(extra):
    code = (
        KERNEL
        + f"""
limit({extra})
errors = [attempt(lambda: kernel(large)), attempt(lambda: kernel(small, repeats=1000000))]
unlimited()
report([errors, attempt(lambda: kernel(small)), bool((kernel(small) == 1).all())])
"""
    )
    errors, after, right = run_apart(code).result()
    assert all(each.startswith("MemoryError: ") for each in errors), errors
    assert not any("bad_alloc" in each for each in errors), errors
    assert (after, right) == ("works", True)


def test_on_chip_memory_that_cannot_be_had_is_given_back():
    code = (
        KERNEL
        + """
kernel(small)
before = address_space()
limit(100)
errors = {attempt(lambda: kernel(small)) for _ in range(20)}
unlimited()
report([sorted(errors), (address_space() - before) >> 20])
"""
    )
    # One arena: a thread's own would take 64 MiB of the address space, at any call.
    errors, kept = run_apart(code, MALLOC_ARENA_MAX="1").result()
    assert all("bytes for on-chip memory" in each for each in errors), errors
    assert kept < 20, "MiB: SBUF alone is 28"


DEVICE = (
    LIMITED
    + """
import torch
limit(2000)
x = torch.ones(256, 256, device="neuron_sim")
kept = []
def fill():
    while True: kept.append(torch.empty(16 << 20, device="neuron_sim", dtype=torch.uint8))
errors = [attempt(fill)]
full = (x[:2, :2] @ x[:2, :2]).tolist()
kept.clear()
errors.append(attempt(lambda: torch.empty(1 << 40, device="neuron_sim", dtype=torch.uint8)))
report([errors, full, (x @ x).sum().item()])
"""
)


def test_a_device_in_little_address_space_is_smaller_and_says_when_it_is_full():
    errors, full, total = run_apart(DEVICE).result()
    assert all(each.startswith("OutOfMemoryError: HBM out of memory") for each in errors), errors
    assert full == [[2, 2], [2, 2]], "small tensors still fit"
    assert total == 256.0**3


def test_ranks_without_memory_for_their_threads_are_an_error():
    code = (
        KERNEL
        + """
def run(): return nki.simulate(kernel, ranks=32)(small)
run()
errors = []
for extra in range(0, 80, 4):
    limit(extra)
    errors.append(attempt(run))
    unlimited()
report([sorted({each.partition(":")[0] for each in errors}), len(run())])
"""
    )
    errors, ranks = run_apart(code, MALLOC_ARENA_MAX="1").result()
    assert errors and set(errors) <= {"MemoryError", "RuntimeError"}
    assert ranks == 32
