"""nl.device_print in both languages: once per point that a run reaches, whoever runs it."""

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import numpy as np
import pytest
import torch
from neuron_sim import settings
from neuron_sim.nki.launch.eager import eagerly

A = np.arange(8, dtype=np.float32).reshape(4, 2)


def printing(a, language):
    out = language.ndarray(a.shape, dtype=a.dtype, buffer=language.shared_hbm)
    for i in language.affine_range(2):
        rows = language.ds(i * 2, 2)
        x = language.load(a[rows])
        language.device_print("tile", x)
        language.store(out[rows], x + 1)
    return out


@old.jit
def old_kernel(a):
    return printing(a, old_nl)


@nki.jit
def new_kernel(a):
    return printing(a, nl)


def eager(kernel, a):
    with eagerly():
        kernel(a)


def checked(kernel, a):
    from neuron_sim import sanitize

    with sanitize():
        kernel(a)


CALLS = {
    "call": lambda kernel, a: kernel(a),
    "torch": lambda kernel, a: kernel(torch.from_numpy(a)),
    "baremetal": lambda kernel, a: (old if kernel is old_kernel else nki).baremetal(kernel)(a),
    "simulate": lambda kernel, a: nki.simulate(kernel)(a),
    "one rank": lambda kernel, a: nki.simulate(kernel, ranks=1)(a),
    "eagerly": eager,
    "sanitize": checked,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("kernel", [old_kernel, new_kernel], ids=["old", "new"])
def test_each_point_is_printed_once_per_run(kernel, call, capsys):
    expected = f"tile {A[:2]}\ntile {A[2:]}\n"
    for _ in range(2):
        call(kernel, A)
        assert capsys.readouterr().out == expected


@pytest.mark.parametrize("jit", [old.jit, nki.jit], ids=["old", "new"])
def test_the_statements_of_a_kernel_that_prints_run_once_per_call(jit, capsys):
    language, called = (old_nl if jit is old.jit else nl), []

    @jit
    def kernel(a):
        called.append(a.shape)
        print("shape", a.shape)
        out = language.ndarray(a.shape, dtype=a.dtype, buffer=language.shared_hbm)
        x = language.load(a)
        language.device_print("x", x)
        language.store(out, x)
        return out

    for runs in (1, 2):  # its program is not kept
        assert np.array_equal(kernel(A), A)
        assert capsys.readouterr().out == f"shape (4, 2)\nx {A}\n"
        assert len(called) == runs
    timed = kernel.traced(A)
    assert timed.time()["body_us"] > 0 and len(timed.source.arguments) == 2


@pytest.mark.parametrize("languages", [(old, old_kernel), (nki, new_kernel)], ids=["old", "new"])
def test_what_does_not_compute_prints_no_values(languages, capsys):
    language, kernel = languages
    kernel.traced(A).time()
    assert capsys.readouterr().out == ""
    language.benchmark(kernel)(A)
    assert "tile" not in capsys.readouterr().out


@pytest.mark.parametrize("kernel", [old_kernel, new_kernel], ids=["old", "new"])
def test_the_memory_of_a_kernel_that_prints_is_explained_once(kernel, capsys, monkeypatch):
    monkeypatch.setenv(settings.EXPLAIN_MEMORY, "1")
    kernel(A)
    assert capsys.readouterr().err.count("memory of kernel") == 1
