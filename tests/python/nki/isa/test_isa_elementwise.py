"""nki.isa: element-wise instructions against NumPy, and what they refuse."""

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import BFLOAT16, in_hbm, integers, uniform, write

A, B = uniform(128, 96), uniform(128, 96)
COLUMN = uniform(128, 1)
ODD = uniform(37, 5, 3)
BITS, MORE_BITS = integers(16, 24, high=1 << 20), integers(16, 24, high=31)
PREDICATE = integers(128, 96, high=2, dtype=np.uint8)

CASES = {
    "tensor_copy": (lambda d, a: nisa.tensor_copy(d, a), [A], lambda a: a),
    "tensor_copy on Scalar": (lambda d, a: nisa.tensor_copy(d, a, engine=nisa.scalar_engine), [A],
        lambda a: a),
    "tensor_tensor add": (lambda d, a, b: nisa.tensor_tensor(d, a, b, nl.add), [A, B],
        lambda a, b: a + b),
    "tensor_tensor of three dimensions": (
        lambda d, a: nisa.tensor_tensor(dst=d, data1=a, data2=a, op=np.multiply), [ODD],
        lambda a: a * a),
    "tensor_tensor on GpSimd": (
        lambda d, a, b: nisa.tensor_tensor(d, a, b, nl.multiply, engine=nisa.engine.gpsimd), [A, B],
        lambda a, b: a * b),
    "tensor_tensor maximum": (lambda d, a, b: nisa.tensor_tensor(d, a, b, nl.maximum), [A, B],
        np.maximum),
    "tensor_scalar of one operator": (lambda d, a: nisa.tensor_scalar(d, a, np.subtract, 1.5), [A],
        lambda a: a - np.float32(1.5)),
    "tensor_scalar reversed": (
        lambda d, a: nisa.tensor_scalar(d, a, np.subtract, 1.5, reverse0=True), [A],
        lambda a: np.float32(1.5) - a),
    "tensor_scalar of two operators": (
        lambda d, a, c: nisa.tensor_scalar(d, a, nl.add, c, op1=nl.multiply, operand1=2.0),
        [A, COLUMN], lambda a, c: (a + c) * 2),
    "tensor_scalar with a comparison": (lambda d, a: nisa.tensor_scalar(d, a, nl.greater, 0.0), [A],
        lambda a: (a > 0).astype(np.float32)),
    "scalar_tensor_tensor": (
        lambda d, a, c, b: nisa.scalar_tensor_tensor(d, a, nl.multiply, c, nl.add, b),
        [A, COLUMN, B], lambda a, c, b: a * c + b),
    "scalar_tensor_tensor reversed": (
        lambda d, a, b: nisa.scalar_tensor_tensor(d, a, nl.multiply, 3.0, nl.subtract, b,
            reverse1=True), [A, B], lambda a, b: b - a * 3),
    "reciprocal": (lambda d, a: nisa.reciprocal(d, a), [A + 2], lambda a: 1 / a),
    "memset": (lambda d, a: nisa.memset(d, 2.5), [A], lambda a: np.full_like(a, 2.5)),
    "memset on GpSimd": (lambda d, a: nisa.memset(d, value=-1, engine=nisa.gpsimd_engine), [A],
        lambda a: np.full_like(a, -1)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("architecture", ["trn1", "trn2", "trn3"])
def test_an_instruction_computes_what_numpy_does(case, architecture):
    body, arrays, oracle = CASES[case]
    result = write(body, arrays, arrays[0].shape, architecture=architecture)
    expected = oracle(*[array.astype(np.float64) for array in arrays])
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-7)


INTEGER_CASES = {
    "bitwise_and": (nl.bitwise_and, np.bitwise_and),
    "bitwise_or": (nl.bitwise_or, np.bitwise_or),
    "bitwise_xor": (np.bitwise_xor, np.bitwise_xor),
    "left_shift": (nl.left_shift, lambda a, b: (a.astype(np.uint32) << b).astype(np.int32)),
    "right_shift": (nl.right_shift, lambda a, b: (a.view(np.uint32) >> b).astype(np.int32)),
    "add": (nl.add, np.add),
}


@pytest.mark.parametrize("case", INTEGER_CASES)
def test_integers_keep_their_bits(case):
    op, oracle = INTEGER_CASES[case]
    result = write(
        lambda d, a, b: nisa.tensor_tensor(d, a, b, op), [BITS, MORE_BITS], BITS.shape, "int32"
    )
    np.testing.assert_array_equal(result, oracle(BITS, MORE_BITS))


def test_a_result_is_rounded_once_to_its_dtype():
    a, b = uniform(8, 33, dtype=BFLOAT16), uniform(8, 33, dtype=BFLOAT16)
    result = write(
        lambda d, x, y: nisa.tensor_tensor(d, x, y, nl.multiply), [a, b], a.shape, nl.bfloat16
    )
    exact = (a.astype(np.float32) * b.astype(np.float32)).astype(BFLOAT16)
    np.testing.assert_array_equal(result, exact)


def test_a_strided_part_of_a_tile_is_computed_in_place():
    def body(dst, a):
        nisa.tensor_copy(dst, a)
        nisa.tensor_scalar(dst[:, 1:7:2], dst[:, 0:6:2], nl.add, 1.0)

    a = uniform(5, 7)
    expected = a.copy()
    expected[:, 1:7:2] = a[:, 0:6:2] + 1
    np.testing.assert_array_equal(write(body, [a], a.shape), expected)


REFUSED = {
    "partitions that differ": (lambda d, a, c: nisa.tensor_tensor(d, a, c[0:1], nl.add), ValueError,
        "number of partitions (dimension 0 size of a tile) mismatch in parameters (data1[128, "
        "96], data2[1, 1]) of 'tensor_tensor'"),
    "elements that differ": (lambda d, a, c: nisa.tensor_tensor(d, a, c, nl.add), ValueError,
        "number of elements per partition mismatch in parameters (data1[128, 96], data2[128, 1]) "
        "of 'tensor_tensor'"),
    "an operator that is none": (lambda d, a, c: nisa.tensor_tensor(d, a, a, np.hypot), TypeError,
        "op is numpy.hypot, which no engine has as an operator; use a function of nki.language "
        "or its NumPy spelling, such as nl.add, nl.maximum, nl.exp or np.add."),
    "an operator by its name": (lambda d, a, c: nisa.tensor_scalar(d, a, "plus", 1.0), TypeError,
        "op0 is 'plus', which no engine has as an operator; use a function of nki.language or "
        "its NumPy spelling, such as nl.add, nl.maximum, nl.exp or np.add."),
    "an engine by a number that none has": (lambda d, a, c: nisa.tensor_copy(d, a, engine=7),
        TypeError,
        "engine is 7, not a member of nki.isa.engine; allowed: engine.tensor, engine.vector, "
        "engine.scalar, engine.gpsimd, engine.dma, engine.sync, engine.unknown."),
    "an engine that cannot": (
        lambda d, a, c: nisa.tensor_tensor(d, a, a, nl.add, engine=nisa.engine.tensor), ValueError,
        None),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_operands_are_refused_in_one_sentence(case):
    body, kind, text = REFUSED[case]
    with pytest.raises(kind) as caught:
        write(body, [A, COLUMN], A.shape)
    if text is not None:
        assert str(caught.value).splitlines()[0] == text


def test_two_inputs_in_psum_are_refused_and_one_is_taken():
    def body(both):
        def inner(dst, a):
            left = nl.ndarray(a.shape, nl.float32, buffer=nl.psum)
            nisa.tensor_copy(left, a)
            nisa.tensor_tensor(dst, left, left if both else a, nl.add)

        return inner

    with pytest.raises(ValueError) as caught:
        write(body(True), [A], A.shape)
    assert str(caught.value).splitlines()[0] == (
        "operands 'data1' and 'data2' of 'tensor_tensor' are both in PSUM; at most one input may "
        "be (architecture trn2)."
    )
    np.testing.assert_array_equal(write(body(False), [A], A.shape), A + A)


def test_a_tensor_in_hbm_is_refused():
    import neuron_sim.nki as nki

    @nki.jit
    def kernel(a):
        tile = nl.load(a)
        nisa.tensor_tensor(tile, a, tile, nl.add)
        return in_hbm(nl, tile)

    with pytest.raises(ValueError) as caught:
        kernel(A)
    assert str(caught.value).splitlines()[0] == (
        "Expected operand 'data1' of 'tensor_tensor' to be in address space 'psum|sbuf', but got "
        "a tile in 'hbm' instead."
    )
