"""Operands of one element per partition in the old language: other floats than fp32 are cast."""

import ml_dtypes
import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, uniform
from nki_errors import error_of

A, B, COLUMN = uniform(128, 40), uniform(128, 40), uniform(128, 1)


def kernel_of(compute, dtype, shape=A.shape):
    @nki.jit
    def kernel(a, b, column):
        return in_hbm(nl, compute(nl.load(a), nl.load(b), nl.load(column, dtype=dtype)))

    return kernel


FORMS = {
    "tensor_scalar": (lambda a, b, c: nisa.tensor_scalar(a, np.multiply, c, op1=np.add, operand1=c),
        lambda a, b, c: a * c + c),
    "reversed tensor_scalar": (lambda a, b, c: nisa.tensor_scalar(a, np.subtract, c, reverse0=True),
        lambda a, b, c: c - a),
    "scalar_tensor_tensor": (
        lambda a, b, c: nisa.scalar_tensor_tensor(data=a, op0=np.add, operand0=c, op1=np.multiply,
            operand1=b), lambda a, b, c: (a + c) * b),
}  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "rounded"), [(nl.float16, np.float16), (nl.bfloat16, ml_dtypes.bfloat16)]
)
@pytest.mark.parametrize("form", FORMS)
def test_a_narrow_float_counts_as_its_value(form, dtype, rounded):
    compute, expected = FORMS[form]
    column = COLUMN.astype(rounded).astype(np.float32)
    result = kernel_of(compute, dtype)(A, B, COLUMN)
    assert np.allclose(result, expected(A, B, column), rtol=1e-6, atol=1e-7)


def test_a_reduction_takes_one_too():
    def compute(a, b, c):
        total = nl.ndarray((128, 1), dtype=nl.float32)
        nisa.tensor_scalar_reduce(
            data=a, op0=np.multiply, operand0=c, reduce_op=np.add, reduce_res=total
        )
        return total

    result = kernel_of(compute, nl.float16, (128, 1))(A, B, COLUMN)
    column = COLUMN.astype(np.float16).astype(np.float32)
    assert np.allclose(result, (A * column).sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-5)


def test_an_fp32_operand_is_not_copied():
    def count(dtype):
        compute = FORMS["tensor_scalar"][0]
        return kernel_of(compute, dtype).traced(A, B, COLUMN).source.instructions

    assert count(nl.float16) == count(nl.float32) + 2  # one cast of each operand


def test_integers_and_wider_tiles_are_refused():
    compute = FORMS["tensor_scalar"][0]
    assert "dtype int32 of operand 'operand0'" in error_of(
        kernel_of(compute, nl.int32), A, B, COLUMN, kind=TypeError
    )
    wide = kernel_of(lambda a, b, c: nisa.tensor_scalar(a, np.add, b), nl.float32)
    assert "must have one element per partition" in error_of(wide, A, B, COLUMN)
    narrow = kernel_of(
        lambda a, b, c: nisa.tensor_scalar(a, np.add, nl.copy(b, dtype=nl.float16)), nl.float32
    )
    assert "must have one element per partition" in error_of(narrow, A, B, COLUMN)
