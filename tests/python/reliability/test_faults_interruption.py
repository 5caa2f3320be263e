"""Ctrl-C and SIGTERM while something computes: KeyboardInterrupt soon, and the next call works."""

import signal

import pytest
from faults import START, interrupted, run_apart

SOON = 3.0  # seconds; the check is every 50 ms, and machines that test are busy

# Each prints "ready", computes for much longer than a test may take, and then `again()` works.
DOORS = {
    "host arrays, new language": """
import numpy as np, neuron_sim.nki as nki, neuron_sim.nki.language as nl, neuron_sim.nki.isa as nisa
@nki.jit
def kernel(a, times=1):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=a)
    for i in nl.sequential_range(times):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=1.0)
    nisa.dma_copy(dst=out, src=t)
    return out
a = np.ones((128, 512), np.float32)
def long(): kernel(a, times=4000000)
def again(): return bool((kernel(a, times=3) == 1).all())
""",
    "host arrays, old language": """
import numpy as np, neuron_sim.neuronxcc.nki as nki, neuron_sim.neuronxcc.nki.language as nl
@nki.jit
def kernel(a, times=1):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    t = nl.load(a)
    for i in nl.sequential_range(times):
        t[...] = nl.multiply(t, 1.0)
    nl.store(out, t)
    return out
a = np.ones((128, 512), np.float32)
def long(): nki.simulate_kernel(kernel, a, times=4000000)
def again(): return bool((nki.simulate_kernel(kernel, a, times=3) == 1).all())
""",
    "an operator of torch": """
import torch
x = torch.ones(8192, 8192, device="neuron_sim")
def long(): [x @ x for _ in range(8)]
def again(): return (x[:4, :4] @ x[:4, :4]).tolist() == [[4.0] * 4] * 4
""",
    "a backward pass on the calling thread": """
import torch
x = torch.ones(8192, 8192, device="neuron_sim")
class Long(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y): return y.clone()
    @staticmethod
    def backward(ctx, gradient):
        for _ in range(8): x @ x
        return gradient
def long():
    y = torch.ones(2, device="neuron_sim", requires_grad=True)
    with torch.autograd.set_multithreading_enabled(False):
        Long.apply(y).sum().backward()
def again():
    y = torch.ones(2, device="neuron_sim", requires_grad=True)
    (y * 3).sum().backward()
    return y.grad.tolist() == [3.0, 3.0]
""",
    "a wait for the device": """
import threading, torch
x = torch.ones(1024, 1024, device="neuron_sim")
y = torch.ones(4, device="neuron_sim")
stop = []
def work():
    while not stop: x @ x
thread = threading.Thread(target=work, daemon=True)
def long():
    thread.start()
    while True: y + y
def again():
    stop.append(1)
    thread.join()
    return (y + y).tolist() == [2.0] * 4
""",
    "the trace of a kernel": """
import numpy as np, neuron_sim.nki as nki, neuron_sim.nki.language as nl, neuron_sim.nki.isa as nisa
@nki.jit
def kernel(a, times=1):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=a)
    for i in range(times):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=1.0)
    nisa.dma_copy(dst=out, src=t)
    return out
a = np.ones((4, 4), np.float32)
def long(): kernel(a, times=100000000)
def again(): return bool((kernel(a, times=3) == 1).all())
""",
    "a grid that meets": """
import types
from neuron_sim.nki.tracing.control_flow.claims import Claims
from neuron_sim.nki.launch.programs import Programs
class Trace:
    name, program_ids, open_scopes, next_hbm = "k", (), [0], 0
    _builder = types.SimpleNamespace(instruction_count=0)
    claims = Claims(_builder)
    def settle(self): pass
def forever():
    while True: pass
def long(): Programs(Trace(), (2,)).run(forever, (), {})
def again(): return Programs(Trace(), (2,)).run(lambda: 7, (), {}) == 7
""",
}
END = """
import time
print("ready", flush=True)
try:
    long()
    report("not interrupted")
except KeyboardInterrupt:
    caught = time.monotonic()
    report(again())
"""


@pytest.mark.parametrize("threads", ("1", "2"))
@pytest.mark.parametrize("door", DOORS)
def test_ctrl_c_interrupts_and_the_next_call_works(door, threads, monkeypatch):
    monkeypatch.setenv("NEURON_SIM_THREADS", threads)
    ended, _ = interrupted(["-c", START + DOORS[door] + END], after=1)
    assert ended.result() is True


NO_TIMER = ("kernel", "device")  # the trace of a kernel, a wait for the device
TIMED = """
import signal, time
sent = []
def note(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, note)
report_at = time.monotonic() + 1.0
signal.setitimer(signal.ITIMER_REAL, 1.0)
try:
    long()
except KeyboardInterrupt:
    report(time.monotonic() - report_at)
"""


@pytest.mark.parametrize(
    "door", [door for door in DOORS if "trace" not in door and "wait" not in door]
)
def test_any_signal_handler_runs_soon(door):
    late = run_apart(DOORS[door] + TIMED).result()
    assert late < SOON, f"{late:.2f} s after the signal"


def test_a_handler_that_does_not_raise_lets_the_kernel_go_on():
    code = (
        DOORS["host arrays, new language"]
        + """
import signal
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
result = kernel(a, times=60000)
signal.setitimer(signal.ITIMER_REAL, 0)
report([bool((result == 1).all()), len(seen) > 0])
"""
    )
    assert run_apart(code).result() == [True, True]


def test_sigterm_ends_a_long_kernel_at_once():
    door = DOORS["host arrays, new language"]
    ended, seconds = interrupted(["-c", START + door + END], after=0.5, sent=signal.SIGTERM)
    assert ended.status == -signal.SIGTERM
    assert seconds < SOON


GIL = (
    DOORS["host arrays, new language"]
    + """
import threading, time
gaps, stop = [], []
def tick():
    last = time.monotonic()
    while not stop:
        time.sleep(0.001)
        now = time.monotonic()
        gaps.append(now - last)
        last = now
kernel(a, times=40000)
thread = threading.Thread(target=tick)
thread.start()
start = time.monotonic()
kernel(a, times=40000)
took = time.monotonic() - start
stop.append(1)
thread.join()
report([took, max(gaps)])
"""
)


def test_other_threads_of_python_run_while_a_kernel_computes():
    took, longest_gap = run_apart(GIL).result()
    assert longest_gap < took / 2, f"a gap of {longest_gap:.2f} s in {took:.2f} s"
