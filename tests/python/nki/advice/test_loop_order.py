"""Advice on nested loops whose inner one loads the same tiles for each iteration of the outer."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from test_kernel_changes import advice, body

TITLE = "Loops in another order"
LARGE = np.zeros((28, 128, 2048), np.float32)  # more tiles than SBUF holds
SMALL = np.zeros((4, 128, 2048), np.float32)


def _result_of(a, b):
    return nl.ndarray((b.shape[0], a.shape[0], 128, 1), dtype=a.dtype, buffer=nl.shared_hbm)


def _sum(out, a, b):
    left, right = nl.load(a), nl.load(b)
    nl.store(out, nl.sum(nl.multiply(left[:, 0:64], right[:, 0:64]), axis=1, keepdims=True))


@nki.jit
def loads_again(a, b):
    out = _result_of(a, b)
    for j in nl.affine_range(b.shape[0]):
        for i in nl.affine_range(a.shape[0]):
            _sum(out[j, i], a[i], b[j])
    return out


@nki.jit
def loads_once(a, b):
    out = _result_of(a, b)
    for i in nl.affine_range(a.shape[0]):
        for j in nl.affine_range(b.shape[0]):
            _sum(out[j, i], a[i], b[j])
    return out


@nki.jit
def undeclared(a, b):
    out = _result_of(a, b)
    for j in range(b.shape[0]):
        for i in range(a.shape[0]):
            _sum(out[j, i], a[i], b[j])
    return out


@nki.jit
def last_one_counts(a, b):
    out = nl.ndarray((a.shape[0] + b.shape[0], 128, 1), dtype=a.dtype, buffer=nl.shared_hbm)
    for j in range(b.shape[0]):
        for i in range(a.shape[0]):
            _sum(out[i + j], a[i], b[j])
    return out


@nki.jit
def in_order(a, b):
    out = _result_of(a, b)
    for j in nl.sequential_range(b.shape[0]):
        for i in nl.sequential_range(a.shape[0]):
            _sum(out[j, i], a[i], b[j])
    return out


@nki.jit
def nested_ranges(a, b):
    out = _result_of(a, b)
    for j in range(b.shape[0]):
        for i in range(j, a.shape[0]):
            _sum(out[j, i], a[i], b[j])
    return out


@pytest.mark.parametrize("kernel", [loads_again, undeclared])
def test_loops_are_exchanged_where_the_inner_one_loads_its_tiles_again_and_again(kernel):
    first = next(each for each in advice(kernel, LARGE, SMALL).changes if each.title == TITLE)
    assert first.body_us == pytest.approx(body(loads_once, LARGE, SMALL), rel=5e-3)
    assert first.body_us < body(kernel, LARGE, SMALL) * 0.75
    start = kernel.func.__code__.co_firstlineno  # of the decorator
    assert first.line == f"{__file__}:{start + 3}"
    assert f"line {start + 3} of " in first.write and f"line {start + 4} of " in first.write


@pytest.mark.parametrize("kernel", [loads_once, last_one_counts, in_order, nested_ranges])
def test_other_loops_stay(kernel):
    """The better order; results of the last iteration; a declared order; dependent bounds."""
    assert all(each.title != TITLE for each in advice(kernel, LARGE, SMALL).changes)
