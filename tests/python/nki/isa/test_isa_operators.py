"""nki.language: element-wise functions of both languages against NumPy."""

import math

import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.language as new_nl
import numpy as np
import pytest
from isa_harness import BFLOAT16, in_hbm, integers, result_of, uniform

LANGUAGES = {"new": new_nl, "old": old_nl}
A, B = uniform(64, 45), uniform(64, 45)
COLUMN = uniform(64, 1, low=0.5, high=2.0)
erf = np.vectorize(math.erf)


def softplus(x):
    return np.log1p(np.exp(x))


UNARY = {
    "abs": np.abs,
    "arctan": np.arctan,
    "ceil": np.ceil,
    "cos": np.cos,
    "erf": erf,
    "exp": np.exp,
    "floor": np.floor,
    "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
    "gelu_apprx_sigmoid": lambda x: x / (1 + np.exp(-1.702 * x)),
    "gelu_apprx_tanh": lambda x: (
        x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
    ),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "negative": np.negative,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sign": np.sign,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "sin": np.sin,
    "softplus": softplus,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
POSITIVE = {
    "log": np.log, "reciprocal": np.reciprocal, "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt,
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", [*UNARY, *POSITIVE])
def test_a_function_of_a_tile_is_that_of_numpy(name, language):
    x = uniform(64, 45, low=0.3, high=9.0) if name in POSITIVE else A * 1.5
    oracle = POSITIVE.get(name) or UNARY[name]
    function = getattr(LANGUAGES[language], name)
    result = result_of(function, x, language=language)
    np.testing.assert_allclose(result, oracle(x.astype(np.float64)), rtol=3e-5, atol=3e-6)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
def test_rounding_keeps_large_numbers_infinities_and_nan(name):
    x = np.array(
        [[-2.5, -2.0, -0.5, 0.5, 2.5, 8388609.0, -3e9, 1e30, np.inf, -np.inf, np.nan]], np.float32
    )
    result = result_of(getattr(new_nl, name), x)
    np.testing.assert_array_equal(result, getattr(np, name)(x))


@pytest.mark.parametrize("name", ["cos", "tan"])
def test_trigonometric_functions_take_whole_turns_away(name):
    x = uniform(16, 33, low=-40, high=40)
    x = x[np.abs(np.cos(x)).min(axis=1) > 0.02] if name == "tan" else x
    x = np.where(np.abs(np.cos(x)) < 0.2, np.float32(0.25), x)
    result = result_of(getattr(old_nl, name), x, language="old")
    expected = getattr(np, name)(x.astype(np.float64))
    np.testing.assert_allclose(result, expected, atol=3e-4)


BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum, "mod": np.mod, "fmod": np.fmod, "power": np.power,
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("other", ["tile", "number", "number first", "column"])
@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_operands_broadcasts(name, other, language):
    function, oracle = getattr(LANGUAGES[language], name), BINARY[name]
    x = np.abs(A) + 0.3
    y = COLUMN if other == "column" else np.abs(B) + 0.4
    if other in ("tile", "column"):
        result = result_of(function, x, y, language=language)
        expected = oracle(x.astype(np.float64), y)
    elif other == "number":
        result = result_of(lambda a: function(a, 0.7), x, language=language)
        expected = oracle(x.astype(np.float64), np.float32(0.7))
    else:
        result = result_of(lambda a: function(1.3, a), x, language=language)
        expected = oracle(np.float64(np.float32(1.3)), x)
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater"])
def test_comparisons_are_bools_in_the_old_language_and_numbers_in_the_new_one(name):
    x = integers(20, 30, high=3).astype(np.float32)
    y = integers(20, 30, high=3).astype(np.float32)
    expected = getattr(np, name)(x, y)
    old = result_of(getattr(old_nl, name), x, y, language="old")
    new = result_of(getattr(new_nl, name), x, y)
    assert old.dtype == np.bool_
    assert new.dtype == np.float32
    np.testing.assert_array_equal(old, expected)
    np.testing.assert_array_equal(new, expected.astype(np.float32))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logical_functions_see_numbers_as_truth(name, language):
    x, y = integers(9, 31, high=3).astype(np.float32), integers(9, 31, high=3).astype(np.float32)
    result = result_of(getattr(LANGUAGES[language], name), x, y, language=language)
    np.testing.assert_array_equal(result.astype(bool), getattr(np, name)(x, y))


@pytest.mark.parametrize("language", LANGUAGES)
def test_logical_not_and_invert(language):
    words = LANGUAGES[language]
    x = integers(9, 31, low=-3, high=3)
    result = result_of(words.logical_not, x.astype(np.float32), language=language)
    np.testing.assert_array_equal(result.astype(bool), x == 0)
    np.testing.assert_array_equal(result_of(words.invert, x, language=language), ~x)


BITWISE = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift, "right_shift": np.right_shift,
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", BITWISE)
def test_bits_of_integers(name, language):
    x, y = integers(17, 20, high=1 << 20), integers(17, 20, high=9)
    function = getattr(LANGUAGES[language], name)
    result = result_of(function, x, y, language=language)
    np.testing.assert_array_equal(result, BITWISE[name](x, y))
    shifted = result_of(lambda a: function(a, 5), x, language=language)
    np.testing.assert_array_equal(shifted, BITWISE[name](x, 5))


@pytest.mark.parametrize(("one", "other", "promoted"), [
    (np.float32, BFLOAT16, np.float32), (np.float16, BFLOAT16, np.float32),
    (np.int32, np.float16, np.float16), (np.int8, np.uint8, np.int16),
    (np.uint8, np.uint16, np.uint16),
])  # fmt: skip
def test_the_dtype_of_a_result_is_the_promoted_one(one, other, promoted):
    x, y = integers(8, 9, high=7).astype(one), integers(8, 9, high=7).astype(other)
    result = result_of(old_nl.add, x, y, language="old")
    assert result.dtype == promoted
    expected = x.astype(np.float32) + y.astype(np.float32)
    np.testing.assert_array_equal(result.astype(np.float32), expected)


def test_dtype_is_that_of_the_result():
    result = result_of(lambda a, b: old_nl.add(a, b, dtype=old_nl.bfloat16), A, B, language="old")
    np.testing.assert_array_equal(result, (A + B).astype(BFLOAT16))


def test_two_tiles_in_psum_are_added_by_way_of_sbuf():
    def body(a, b):
        x = old_nl.zeros(a.shape, dtype=old_nl.float32, buffer=old_nl.psum)
        y = old_nl.zeros(a.shape, dtype=old_nl.float32, buffer=old_nl.psum)
        x[...], y[...] = a, b
        return old_nl.add(x, y)

    np.testing.assert_array_equal(result_of(body, A, B, language="old"), A + B)


def test_unknown_keywords_and_operands_are_refused():
    with pytest.raises(TypeError) as caught:
        result_of(lambda a: old_nl.exp(a, maks=None), A, language="old")
    assert str(caught.value) == "exp() got an unexpected keyword argument 'maks'"
    with pytest.raises(TypeError) as caught:
        result_of(lambda a: new_nl.add(1, 2), A)
    assert str(caught.value) == "'add' of two numbers: at least one operand must be a tile."


def test_a_tensor_in_hbm_is_no_operand():
    import neuron_sim.neuronxcc.nki as nki

    @nki.jit
    def kernel(a):
        return in_hbm(old_nl, old_nl.exp(a))

    with pytest.raises(ValueError) as caught:
        kernel(A)
    assert str(caught.value) == (
        "Expected operand 'x' of 'exp' to be in address space 'psum|sbuf', but got a tile in 'hbm' "
        "instead."
    )
