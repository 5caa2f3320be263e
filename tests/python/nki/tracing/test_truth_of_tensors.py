"""`if tensor:` in the new language: an optional tensor is there; values have no truth."""

import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from nki_errors import error_of

A = np.random.default_rng(8).uniform(-1, 1, (8, 4)).astype(np.float32)
BIAS = np.random.default_rng(9).uniform(-1, 1, (8, 4)).astype(np.float32)


@nki.jit
def with_bias(a, bias=None):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.load(a)
    loaded = nl.load(bias) if bias else None
    if loaded:
        tile = nl.add(tile, loaded)
    nl.store(out, tile if not loaded else nl.multiply(tile, 2.0))
    return out


def test_an_optional_tensor_is_true_when_it_is_given():
    assert np.array_equal(with_bias(A), A)
    assert np.allclose(with_bias(A, BIAS), (A + BIAS) * 2, rtol=1e-6)
    assert np.array_equal(with_bias(A[:1, :1].copy()), A[:1, :1])


def kernel_of(condition):
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(a))
        if condition(nl.load(a)):
            nl.store(out, 0.0)
        return out

    return kernel


@pytest.mark.parametrize(
    "condition", [lambda tile: tile > 0, lambda tile: not (tile == tile)], ids=["if", "not"]
)
def test_a_comparison_of_tiles_has_no_truth(condition):
    assert error_of(kernel_of(condition), A) == (
        "The truth value of an array with more than one element is ambiguous"
    )


def test_a_single_element_on_chip_is_a_value():
    message = "Dynamic control-flow depending on tensor value is currently not supported by NKI."
    assert error_of(kernel_of(lambda tile: tile[0:1, 0:1]), A) == message
    assert np.array_equal(kernel_of(lambda tile: tile[0:1, 0:2])(A), np.zeros_like(A))


def test_a_tensor_is_no_condition_of_a_while_loop():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.load(a)
        while tile:
            nl.store(out, tile)
        return out

    assert error_of(kernel, A).startswith("the condition of a `while` loop on chip is a register")
