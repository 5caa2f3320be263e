"""Indices that are read from a tile when the kernel runs: tensor_copy_dynamic_src and _dst."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from nki_errors import error_of

RANDOM = np.random.default_rng(6)
A = RANDOM.uniform(-1, 1, (8, 20, 3)).astype(np.float32)


def gathered(index_of, shape):
    """A kernel that gathers from its first argument at the offsets in its second."""

    @nki.jit
    def kernel(a, offsets):
        out = nl.ndarray((offsets.shape[1], *shape), dtype=a.dtype, buffer=nl.shared_hbm)
        tile, starts = nl.load(a), nl.load(offsets)
        for i in nl.affine_range(offsets.shape[1]):
            nl.store(out[i], nisa.tensor_copy_dynamic_src(tile[index_of(starts[0, i])]))
        return out

    return kernel


OFFSETS = np.array([[4, 0, 16, 9]], np.int32)


def test_an_offset_and_a_range_after_it_are_a_slice():

    def dynamic(offset):
        p, f, c = nl.mgrid[0:8, 0:4, 0:3]
        return p, offset + f, c

    out = gathered(dynamic, (8, 4, 3))(A, OFFSETS)
    assert np.array_equal(out, np.stack([A[:, s : s + 4] for s in OFFSETS[0]]))


def test_an_offset_alone_is_one_element():
    def dynamic(offset):
        p, _, c = nl.mgrid[0:8, 0:1, 0:3]
        return p, offset, c

    out = gathered(dynamic, (8, 1, 3))(A, OFFSETS)
    assert np.array_equal(out, np.stack([A[:, s : s + 1] for s in OFFSETS[0]]))


def test_a_number_may_be_added_to_an_offset():
    def dynamic(offset):
        p, f, c = nl.mgrid[0:8, 0:2, 0:3]
        return p, 2 + (f + offset), c

    out = gathered(dynamic, (8, 2, 3))(A, OFFSETS)
    assert np.array_equal(out, np.stack([A[:, s + 2 : s + 4] for s in OFFSETS[0]]))


def test_an_offset_that_points_outside_is_refused_when_the_kernel_runs():
    def dynamic(offset):
        p, f, c = nl.mgrid[0:8, 0:4, 0:3]
        return p, offset + f, c

    kernel = gathered(dynamic, (8, 4, 3))
    kernel(A, np.array([[16]], np.int32))
    message = error_of(kernel, A, np.array([[17]], np.int32), kind=IndexError)
    assert "index range [17, 20] exceed dimension size of 20" in message


@nki.jit
def scattered(a, offset):
    """Five columns of `a` written from a column on."""
    out = nl.ndarray((8, 20, 3), dtype=a.dtype, buffer=nl.shared_hbm)
    tile, start = nl.load(a), nl.load(offset)
    whole = nl.zeros((8, 20, 3), dtype=a.dtype)
    p, f, c = nl.mgrid[0:8, 0:5, 0:3]
    nisa.tensor_copy_dynamic_dst(dst=whole[p, start[0, 0] + f, c], src=tile[p, f, c])
    nl.store(out, whole)
    return out


def test_a_dynamic_destination_is_written_where_its_index_points():
    expected = np.zeros_like(A)
    expected[:, 7:12] = A[:, :5]
    assert np.array_equal(scattered(A, np.array([[7]], np.int32)), expected)


def test_a_destination_that_points_outside_is_refused_too():
    scattered(A, np.array([[15]], np.int32))
    message = error_of(scattered, A, np.array([[16]], np.int32), kind=IndexError)
    assert "index range [16, 20] exceed dimension size of 20" in message


@pytest.mark.parametrize("view", [lambda t: t, lambda t: t[:, 0:2], lambda t: t.reshape((8, 15))])
def test_other_instructions_take_no_dynamic_index(view):
    @nki.jit
    def kernel(a, offset):
        tile = nl.load(a)
        start = nl.load(offset)
        p, f, c = nl.mgrid[0:8, 0:5, 0:3]
        return nl.copy(view(tile[p, start[0, 0] + f, c])).settle()

    assert error_of(kernel, A, OFFSETS, kind=IndexError) == (
        "If indices are dynamic, copying indirect memory references of tensor `tile` is not "
        "natively supported: use nisa.tensor_copy_dynamic_src."
    )
