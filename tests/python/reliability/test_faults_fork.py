"""Forked children of a process that used the simulator."""

import pytest
from faults import run_apart

FORK = """
import os
def in_child(action):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result = action()
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(write, json.dumps(result).encode())
        os._exit(0)
    os.close(write)
    answer = os.fdopen(read, "rb").read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(answer) if status == 0 else f"status {status}"
"""

DEVICE = (
    FORK
    + """
import torch
x = torch.arange(4.0, device="neuron_sim")
x + x
"""
)

USES = {
    "a new tensor": "torch.ones(2, device='neuron_sim')",
    "an operator": "(x + x).tolist()",
    "an operator in place": "x.add_(1).tolist()",
    "a fallback": "torch.linalg.norm(x.double()).item()",
    "a copy to the host": "x.tolist()",
    "a copy to the device": "torch.ones(4).to('neuron_sim').tolist()",
    "the other device": "x.to('neuron_sim:1').tolist()",
    "a custom operator": "torch.ops.neuron_sim.vector_add(x, x).tolist()",
    "its time": "torch.neuron_sim.synchronize()",
}


def test_a_child_is_refused_whatever_it_does_on_the_device():
    actions = ", ".join(f"{name!r}: lambda: {use}" for name, use in USES.items())
    code = DEVICE + (
        f"uses = {{{actions}}}\n"
        "report([{name: in_child(use) for name, use in uses.items()}, (x + x).tolist()])"
    )
    refusals, parent = run_apart(code).result()
    assert refusals.keys() == USES.keys()
    for name, refusal in refusals.items():
        assert refusal.startswith("RuntimeError: Cannot "), f"{name}: {refusal}"
        assert "neuron_sim in " in refusal and "'spawn'" in refusal, f"{name}: {refusal}"
    assert parent == [0, 2, 4, 6], "the parent goes on"


def test_a_child_may_free_what_it_inherited_and_use_the_cpu():
    code = (
        DEVICE
        + """
def child():
    global x
    del x
    return (torch.ones(3) + 1).tolist()
report([in_child(child), x.tolist()])
"""
    )
    assert run_apart(code).result() == [[2, 2, 2], [0, 1, 2, 3]]


KERNEL = """
import numpy as np, neuron_sim.nki as nki, neuron_sim.nki.language as nl, neuron_sim.nki.isa as nisa
@nki.jit
def double(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(64):
        nisa.dma_copy(dst=t, src=a)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=t)
    return out
a = np.ones((128, 512), np.float32)
"""


@pytest.mark.parametrize("threads", ("1", "4"))
def test_kernels_on_host_arrays_run_in_a_child(threads):
    code = (
        FORK
        + KERNEL
        + """
def total(): return float(double(a).sum())
report([total(), in_child(total), total()])
"""
    )
    assert run_apart(code, NEURON_SIM_THREADS=threads).result() == [131072.0] * 3


def test_a_fork_while_another_thread_computes_leaves_a_child_that_works():
    code = (
        FORK
        + KERNEL
        + """
import threading
double(a)  # imports what it needs: CPython does not free a module's lock that another thread held
stop = []
def work():
    while not stop: double(a)
thread = threading.Thread(target=work)
thread.start()
results = [in_child(lambda: float(double(a).sum())) for _ in range(8)]
stop.append(1)
thread.join()
report(results)
"""
    )
    assert run_apart(code, NEURON_SIM_THREADS="4").result() == [131072.0] * 8
