"""Arguments of the wrong type: a TypeError with one sentence, in both languages."""

import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest

X = np.ones((32, 16), np.float32)


def refusal(body, decorate, words):
    """The TypeError of a kernel that calls body(tile)."""

    @decorate
    def kernel(x):
        out = words.ndarray(x.shape, x.dtype, buffer=words.shared_hbm)
        result = body(words.load(x))
        words.store(out, result)
        return out

    with pytest.raises(TypeError) as caught:
        kernel(X)
    return str(caught.value)


@pytest.mark.parametrize("body, sentence", [
    (lambda x: nisa.max8(x, 5), "'max8': argument 'src' is 5, of type int, not a tensor."),
    (lambda x: nl.exp(b"y"), "argument 'x' is b'y', of type bytes, not a tensor."),
    (lambda x: nl.greater(1, 2), "an operator of tiles got no tensor."),
    (lambda x: nisa.register_store(x[0:1, 0:1], x), "not what has '__index__'."),
    (lambda x: nl.max(x, axis=float("inf")), "is inf, of type float"),
    (lambda x: nisa.nc_matmul(x, x, x, tile_position=np.dtype("complex64")),
        "'tile_position' is dtype('complex64'), not a pair of numbers."),
    (lambda x: nisa.nc_matmul(x, x, x, tile_position=np.arange(3)),
        "'tile_position' is array([0, 1, 2]), not a pair of numbers."),
    (lambda x: nisa.nc_matmul(x, x, x, tile_position=(0, 0), tile_size=(1, 2, 3)),
        "'tile_size' is (1, 2, 3), not a pair of numbers."),
    (lambda x: nl.max(x, axis=1.5), "is 1.5, of type float"),
])  # fmt: skip
def test_the_new_language_names_function_argument_and_value(body, sentence):
    assert sentence in refusal(body, nki.jit, nl)


@pytest.mark.parametrize("given", (None, (), [], (0, 0), [0, 0]))
def test_a_pair_is_any_sequence_of_two_numbers(given):
    @nki.jit
    def kernel(x):
        out = nl.ndarray((16, 16), nl.float32, buffer=nl.shared_hbm)
        tile, product = nl.load(x), nl.zeros((16, 16), nl.float32, buffer=nl.psum)
        size = None if given is None or len(given) == 0 else (32, 32)
        nisa.nc_matmul(product, tile, tile, tile_position=given, tile_size=size)
        nl.store(out, nl.copy(product))
        return out

    np.testing.assert_array_equal(kernel(X), X.T @ X)


@pytest.mark.parametrize("body, sentence", [
    (lambda x: old_nisa.iota(x, dtype=old_nl.int32), "not what has 'terms'."),
    (lambda x: old_nisa.nc_find_index8(data=x, vals=None), "None, of type NoneType"),
    (lambda x: old_nisa.max8(src=True), "True, of type bool, not a tensor."),
])  # fmt: skip
def test_the_old_language_names_them_too(body, sentence):
    assert sentence in refusal(body, old_nki.jit, old_nl)


def test_numbers_that_cannot_be_computed_with_are_value_errors():
    @old_nki.jit
    def divides(x):
        old_nisa.local_gather(old_nl.load(x), old_nl.load(x)[0:0, 0:1])

    @old_nki.jit
    def overflows(x):
        return old_nl.load(x[old_nl.arange(4)[:, None], 2**70])

    for kernel in (divides, overflows):
        with pytest.raises(ValueError):
            kernel(X)


def test_a_missing_symbol_stays_an_attribute_error():
    @nki.jit
    def kernel(x):
        return nl.no_such_symbol(None)

    with pytest.raises(AttributeError, match="no_such_symbol"):
        kernel(X)


@pytest.mark.parametrize("jit", [old_nki.jit, nki.jit])
def test_arguments_that_a_kernel_does_not_take_are_named_with_its_signature(jit):
    def kernel(x, scale=1):
        return x

    for arguments, words, sentence in [
        ((X, 1, 2), {}, "kernel 'kernel(x, scale=1)': too many positional arguments."),
        ((), {}, "kernel 'kernel(x, scale=1)': missing a required argument: 'x'."),
        ((X,), {"y": 1}, "kernel 'kernel(x, scale=1)': got an unexpected keyword argument 'y'."),
    ]:
        with pytest.raises(TypeError) as caught:
            jit(kernel)(*arguments, **words)
        assert str(caught.value) == sentence


@pytest.mark.parametrize("simulate", [old_nki.simulate_kernel, lambda x: nki.simulate(x)()])
def test_what_is_not_a_function_is_no_kernel(simulate):
    with pytest.raises(TypeError) as caught:
        simulate(3)
    assert str(caught.value) == "a kernel is a function, not int 3."
