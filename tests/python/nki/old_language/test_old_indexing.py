"""Indices of the old language: arange, mgrid, ds, loop variables; bounds; what is refused."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, uniform
from nki_errors import error_of


def loaded(shape, index_of):
    """A kernel that loads in_tensor[index_of()] and returns the tile."""

    @nki.jit
    def kernel(in_tensor):
        return in_hbm(nl, nl.load(in_tensor[index_of()]))

    return kernel


def grid(rows, columns):
    return nl.arange(rows)[:, None], nl.arange(columns)[None, :]


def test_a_stride_of_an_index_is_that_of_numpy():
    a = uniform(40, 60)

    def index():
        p, f = grid(12, 10)
        return 3 * p + 2, 5 + f * 4

    assert np.array_equal(loaded((12, 10), index)(a), a[2:38:3, 5:45:4])


def test_one_dimension_of_a_tile_may_index_two_of_a_tensor():
    a = uniform(6, 6)

    def index():
        p, f = grid(6, 1)
        return p, p + 0 * f

    assert np.array_equal(loaded((6, 1), index)(a), np.diag(a)[:, None])


def test_mgrid_has_its_dimensions_by_name_and_is_an_index_itself():
    a = uniform(8, 9)

    def by_name():
        tile = nl.mgrid[0:4, 2:9]
        return tile.p, tile.x

    assert np.array_equal(loaded((4, 7), by_name)(a), a[:4, 2:])
    assert np.array_equal(loaded((4, 7), lambda: nl.mgrid[0:4, 2:9])(a), a[:4, 2:])


def test_fewer_indices_than_dimensions_are_a_view_of_the_rest():
    a = uniform(3, 7, 5)
    assert np.array_equal(loaded((7, 5), lambda: 1)(a), a[1])
    assert np.array_equal(loaded((7, 5), lambda: (2, slice(None), Ellipsis))(a), a[2])


def test_a_slice_may_start_at_a_loop_variable():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(3):
            nl.store(out[nl.ds(i * 4, 4)], nl.load(a[i * 4 : (i + 1) * 4, :]))
        return out

    a = uniform(12, 5)
    assert np.array_equal(kernel(a), a)
    assert kernel.traced(a).source.instructions == 2


def test_a_range_may_start_anywhere_and_have_a_step():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for i in nl.sequential_range(2, 11, 3):
            nl.store(out[0:1, nl.ds(i, 1)], nl.load(a[0:1, nl.ds(i, 1)]))
        return out

    a = uniform(1, 12)
    out = kernel(a)
    assert np.array_equal(out[0, [2, 5, 8]], a[0, [2, 5, 8]])


def test_bounds_are_exact():
    a = uniform(8, 40)
    assert np.array_equal(loaded((8, 20), lambda: nl.mgrid[0:8, 20:40])(a), a[:, 20:])
    message = error_of(loaded((8, 20), lambda: nl.mgrid[0:8, 21:41]), a, kind=IndexError)
    assert message == (
        "Out-of-bound access for tensor `in_tensor` on dimension 1: index range [21, 40] exceed "
        "dimension size of 40"
    )
    message = error_of(loaded((8, 20), lambda: (slice(1, 9), slice(0, 20))), a, kind=IndexError)
    assert message == (
        "Out-of-bound access for tensor `in_tensor` on dimension 0: index range [1, 8] exceed "
        "dimension size of 8"
    )


def test_bounds_of_a_loop_are_those_of_all_its_trips():
    @nki.jit
    def kernel(x, trips):
        out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.mgrid[0:128, 0:512]
        for i in nl.sequential_range(trips):
            nl.store(out[tile.p, tile.x], nl.load(x[tile.p, i * 512 + tile.x]))
        return out

    x = uniform(128, 4000)
    assert np.array_equal(kernel(x, 7), x[:, 3072:3584])
    assert error_of(kernel, x, 8, kind=IndexError) == (
        "Out-of-bound access for tensor `x` on dimension 1: index range [0, 4095] exceed "
        "dimension size of 4000"
    )


@pytest.mark.parametrize("index, message", [
    (lambda: (nl.arange(4)[:, None], slice(None)),
        "Mixing basic tensor indexing and advanced tensor indexing is not supported."),
    (lambda: (nl.arange(4), 0), "indexing tensor `in_tensor` with 1d arange is not supported"),
    (lambda: (0, 0, 0),
        "too many indices for tensor `in_tensor`: it has 2 dimensions, 3 were indexed."),
], ids=["mixed", "one dimension", "too many"])  # fmt: skip
def test_indices_that_are_refused(index, message):
    assert error_of(loaded((4, 4), index), uniform(4, 4), kind=IndexError) == message


def test_the_partition_dimension_is_the_first_of_a_tile():
    @nki.jit
    def kernel(a, transposed):
        out = nl.ndarray((4, 4), dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.load(a)
        p, f = grid(4, 4)
        nl.store(out[p, f], tile[f, p] if transposed else tile[p, f])
        return out

    a = uniform(4, 4)
    assert np.array_equal(kernel(a, False), a)
    assert error_of(kernel, a, True, kind=IndexError).startswith(
        "Failed to infer tile from tensor 'tile': its partition dimension is indexed by dimension 1"
    )


def test_an_index_tensor_cannot_be_assigned_to():
    @nki.jit
    def kernel(a):
        _, x = nl.mgrid[0:1, 0:8]
        x[0, 5] = 1024
        return a

    assert error_of(kernel, uniform(1, 8), kind=TypeError) == (
        "'index' tensor does not support item assignment"
    )
