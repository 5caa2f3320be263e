"""Threads: changes of their number while kernels run, and all devices at once."""

from faults import run_apart

RACE = """
import threading, time, torch
x = torch.randn(2, 32, 16, 16, device="neuron_sim")
w = torch.randn(32, 32, 3, 3, device="neuron_sim")
expected = torch.nn.functional.conv2d(x, w, padding=1).cpu()
stop, wrong, counts = [], [], [0, 0]
def compute():
    while not stop:
        y = torch.nn.functional.conv2d(x, w, padding=1).cpu()
        counts[0] += 1
        if not torch.equal(y, expected): wrong.append(counts[0])
def change():
    while not stop:
        torch.neuron_sim.set_host_threads(1 + counts[1] % 4)
        counts[1] += 1
threads = [threading.Thread(target=each, daemon=True) for each in (compute, compute, change)]
[thread.start() for thread in threads]
time.sleep(2)
stop.append(1)
[thread.join(10) for thread in threads]
report([[thread.is_alive() for thread in threads], wrong, min(counts) > 3])
"""


def test_the_number_of_host_threads_may_change_while_kernels_run():
    assert run_apart(RACE, timeout=60).result() == [[False] * 3, [], True]


DEVICES = """
import threading, torch
def work(device, errors):
    try:
        x = torch.full((64, 64), float(device + 1), device=f"neuron_sim:{device}")
        for _ in range(20):
            y = (x @ x).sum().item()
            assert y == 64.0**3 * (device + 1) ** 2, y
            assert torch.neuron_sim.current_device() == 0
    except BaseException as error:
        errors.append(repr(error))
errors = []
count = torch.neuron_sim.device_count()
threads = [threading.Thread(target=work, args=(i % count, errors)) for i in range(2 * count)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
report([count, errors])
"""


def test_threads_on_all_devices_at_once_get_their_own_results():
    assert run_apart(DEVICES, NEURON_SIM_DEVICES="16").result() == [16, []]


GROWTH = """
import resource
import numpy as np, neuron_sim.nki as nki, neuron_sim.nki.language as nl, neuron_sim.nki.isa as nisa
@nki.jit
def kernel(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=a)
    nisa.dma_copy(dst=out, src=t)
    return out
a = np.ones((4, 4), np.float32)
def resident():
    with open("/proc/self/statm") as file: return int(file.read().split()[1]) * 4
for _ in range(1000): kernel(a)
before = resident()
for _ in range(10000): kernel(a)
report(resident() - before)
"""


def test_ten_thousand_calls_of_a_kernel_take_no_more_memory():
    kibibytes = run_apart(GROWTH).result()
    assert kibibytes < 4096, f"{kibibytes} KiB more"
