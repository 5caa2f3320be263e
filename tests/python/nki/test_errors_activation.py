"""The vendor's error texts for bias and scale of the older nisa.activation."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from nki_errors import error_of


@nki.jit
def activated(a, reduces, operand, shape, dtype):
    column = nisa.memset(shape, 1, dtype=dtype)
    data = nl.load(a)
    if reduces:
        total = nl.ndarray((128, 1), dtype=nl.float32)
        nisa.activation_reduce(
            nl.exp, data, reduce_op=nl.add, reduce_res=total, **{operand: column}
        )
    else:
        nisa.activation(nl.exp, data, **{operand: column})


A = np.zeros((128, 512), np.float32)


@pytest.mark.parametrize("reduces", [False, True])
def test_bias_is_a_vector_of_floats(reduces):
    for dtype in (nl.float32, nl.float16, nl.bfloat16):
        activated.traced(A, reduces, "bias", (128, 1), dtype)
    for dtype in (nl.int8, nl.float8_e4m3):
        assert error_of(activated.traced, A, reduces, "bias", (128, 1), dtype) == (
            "Bias parameter of activation or activation_reduce must be a vector of type float32, "
            f"float16, or bfloat16, not {dtype}."
        )


@pytest.mark.parametrize("reduces", [False, True])
def test_scale_is_a_vector_of_fp32(reduces):
    activated.traced(A, reduces, "scale", (128, 1), nl.float32)
    for dtype in (nl.float16, nl.int32):
        assert error_of(activated.traced, A, reduces, "scale", (128, 1), dtype) == (
            "Scale parameter of activation or activation_reduce must be a scalar or vector of type "
            f"float32, not {dtype}."
        )


@pytest.mark.parametrize("shape", [(128, 2), (1, 128), (128, 128)])
def test_scale_has_one_element_per_partition(shape):
    assert error_of(activated.traced, A, False, "scale", shape, nl.float32) == (
        "Scale parameter of activation must be either a scalar value or a 1D vector spanning the "
        f"partition dimension, not column{list(shape)}."
    )
