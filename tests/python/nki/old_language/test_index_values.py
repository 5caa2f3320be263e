"""Index expressions and their comparisons as values: nisa.iota, nl.where, operators of tiles."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from nki_errors import error_of

A = np.random.default_rng(5).uniform(-1, 1, (8, 16)).astype(np.float32)
P, F = np.ogrid[0:8, 0:16]


def computed(body, a=A):
    """body(tile of a, index of its partitions, index of its columns), and the kernel's program."""

    @nki.jit
    def kernel(a):
        tile = body(nl.load(a), nl.arange(8)[:, None], nl.arange(16)[None, :])
        out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=tile)
        return out

    return kernel(a)


COMPARED = {
    "partitions": (lambda a, p, f: nl.where(p < 3, a, 0.0), np.where(P < 3, A, 0)),
    "columns": (lambda a, p, f: nl.where(f >= 3, a, a * 2), np.where(F >= 3, A, A * 2)),
    "both": (lambda a, p, f: nl.where(p >= f, a, -1.0), np.where(P >= F, A, -1)),
    "two joined": (
        lambda a, p, f: nl.where((p >= f) & (f > 1), a, -1.0), np.where((P >= F) & (F > 1), A, -1)),
    "equality": (lambda a, p, f: nl.where(p == f, a, 0.0), np.where(P == F, A, 0)),
    "two numbers": (lambda a, p, f: nl.where(p >= f, 1.0, 0.0), np.where(P >= F, 1, 0)),
    "a column": (lambda a, p, f: nl.where(f < 5, a[:, 0:1], 0.0), np.where(F < 5, A[:, :1], 0)),
    "a truth": (lambda a, p, f: nl.where(2 < 1, a, 7.0), np.full_like(A, 7)),
    "a product": (lambda a, p, f: nl.multiply(a, p >= f), A * (P >= F)),
    "an operator": (lambda a, p, f: a * (f < 5), A * (F < 5)),
    "its reflection": (lambda a, p, f: (p < 5) * a, A * (P < 5)),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPARED)
def test_a_comparison_of_indices_is_a_tile_of_ones_and_zeros(name):
    body, expected = COMPARED[name]
    np.testing.assert_array_equal(computed(body), expected)


def test_a_comparison_takes_a_memset_and_an_instruction_per_condition():
    @nki.jit
    def kernel(a):
        p, f = nl.mgrid[0:8, 0:16]
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.where((p >= f) & (f > 1), nl.load(a), 0.0))
        return out

    listing = kernel.traced(A).source.listing()
    assert listing.count("affine_select") == 2
    assert listing.count("tensor_copy_predicated") == 1


def test_comparisons_and_iota_in_loops_depend_on_their_variables():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((4, *a.shape), dtype=a.dtype, buffer=nl.shared_hbm)
        numbers = nl.ndarray((4, 1, 1), dtype=nl.int32, buffer=nl.shared_hbm)
        tile, p = nl.load(a), nl.arange(8)[:, None]
        for i in nl.affine_range(4):
            nl.store(out[i], nl.where(p + 2 * i < 5, tile, 0.0))
            nl.store(numbers[i], nisa.iota(3 * i + 1, nl.int32))
        return out, numbers

    out, numbers = kernel(A)
    np.testing.assert_array_equal(out, [np.where(P + 2 * i < 5, A, 0) for i in range(4)])
    assert numbers.ravel().tolist() == [1, 4, 7, 10]


def test_the_index_of_a_program_is_a_value():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((2, 1), dtype=nl.int32, buffer=nl.shared_hbm)
        program = nl.program_id(axis=0)
        number = nisa.iota(program, dtype=nl.int32).reshape((1, 1))
        nl.store(out[program + nl.arange(1)[:, None], nl.arange(1)[None, :]], value=number)
        return out

    assert kernel[2](A).tolist() == [[0], [1]]


@pytest.mark.parametrize(("body", "kind", "sentence"), [
    (lambda a, p, f: nl.where(nl.arange(4)[:, None] < 3, a, 0.0), ValueError,
        "number of partitions (dimension 0 size of a tile) mismatch in parameters "
        "((2 + -1*arange(4) >= 0), tile[8, 16]) of 'where'"),
    (lambda a, p, f: nl.multiply(3.0, p < 3), TypeError,
        "'multiply' of two numbers: at least one operand must be a tile."),
    (lambda a, p, f: nisa.iota(3.5, nl.int32), TypeError,
        "'iota': argument 'expr' is 3.5, of type float, not a tensor."),
])  # fmt: skip
def test_what_fits_no_tile_is_refused(body, kind, sentence):
    assert error_of(computed, body, kind=kind).splitlines()[0] == sentence
