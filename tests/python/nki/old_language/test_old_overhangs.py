"""Slices of the old language that end after their tensor: only what is accessed has bounds."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm
from nki_errors import error_of

A = np.random.default_rng(2).uniform(-1, 1, (8, 64)).astype(np.float32)


def seen(view, shape):
    """A kernel that stores a copy of view(tile of its argument)."""

    @nki.jit
    def kernel(a):
        return in_hbm(nl, nl.copy(view(nl.load(a))))

    return kernel


@pytest.mark.parametrize(("view", "expected"), [
    (lambda t: t[:, 48:65][:, 2:16], A[:, 50:64]),
    (lambda t: t[:, 48:80][0:4, 0:16], A[:4, 48:64]),
    (lambda t: t[:, 40:80:2][:, 3:12], A[:, 46:64:2]),
    (lambda t: t[:, 48:80][:, 8:32][:, 0:8], A[:, 56:64]),
    (lambda t: t[:, 48:80][:, nl.ds(4, 12)], A[:, 52:64]),
    (lambda t: t[:, 48:80][nl.arange(8)[:, None], 15 - nl.arange(16)[None, :]], A[:, 63:47:-1]),
    (lambda t: t[:, 48:80][nl.arange(8)[:, None], nl.arange(2)[None, :]], A[:, 48:50]),
    (lambda t: t[0:12][0:8], A),
])  # fmt: skip
def test_a_part_of_an_overhanging_slice_that_lies_inside_is_read(view, expected):
    assert np.array_equal(seen(view, expected.shape)(A), expected)


@pytest.mark.parametrize(("view", "shape", "last"), [
    (lambda t: t[:, 48:65], (8, 17), 64),
    (lambda t: t[:, 48:65][:, 2:17], (8, 15), 64),
    (lambda t: t[:, 48:65][0:4], (4, 17), 64),
    (lambda t: t[:, 48:65][0:4, ...], (4, 17), 64),
    (lambda t: t[:, 48:80][:, 8:32][:, 0:9], (8, 9), 64),
    (lambda t: t[:, 48:80][:, 16], (8, 1), 64),
    (lambda t: t[:, 48:80][nl.arange(8)[:, None], nl.arange(17)[None, :]], (8, 17), 64),
])  # fmt: skip
def test_a_part_that_reaches_the_overhang_is_out_of_bounds(view, shape, last):
    message = error_of(seen(view, shape), A, kind=IndexError)
    assert message.startswith("Out-of-bound access for tensor")
    assert f", {last}] exceed dimension size of 64" in message


def test_overhangs_in_a_loop_are_checked_over_all_its_trips():
    def kernel_of(columns):
        @nki.jit
        def kernel(a):
            out = nl.ndarray((8, 4 * columns), dtype=a.dtype, buffer=nl.shared_hbm)
            tile = nl.load(a)
            for i in nl.affine_range(4):
                window = tile[:, i * 16 : i * 16 + 20]
                nl.store(out[:, nl.ds(i * columns, columns)], nl.copy(window[:, 0:columns]))
            return out

        return kernel

    assert np.array_equal(kernel_of(16)(A), A)
    assert "exceed dimension size of 64" in error_of(kernel_of(17), A, kind=IndexError)


def test_rows_that_follow_in_memory_are_not_reached():
    """An HBM tensor lies in one piece: the element after a row is the next row's first."""

    @nki.jit
    def kernel(a):
        return in_hbm(nl, nl.load(a[0:4, 60:68]))

    assert "exceed dimension size of 64" in error_of(kernel, A, kind=IndexError)
