"""Tensors and index expressions as Python holds them; tests/device/tracing has their values."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from neuron_sim.nki.tracing import Tensor


def in_a_kernel(body):
    """Runs body(tile, loop variable) while a kernel is traced."""

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.load(a).settle()
        for i in nl.sequential_range(4):
            body(tile, i)
        nl.store(out, tile)
        return out

    kernel.call(np.zeros((128, 40), np.float32)).trace_anew()


@pytest.mark.parametrize(
    "make", [lambda i: i * 2**70, lambda i: i * 2**62 * 4, lambda i: i + 2**64]
)
def test_indices_beyond_64_bits_are_refused(make):
    def body(tile, loop):
        with pytest.raises(OverflowError) as caught:
            make(loop)
        assert str(caught.value) == "an index expression is beyond 64 bits."

    in_a_kernel(body)


def test_fields_that_are_trusted_take_nothing_else():
    def body(tile, loop):
        with pytest.raises(TypeError, match="the storage of a tensor is a TensorStorage."):
            tile.storage = 5
        with pytest.raises(AttributeError):
            tile.pending = None
        with pytest.raises(TypeError, match="is a TensorStorage or None"):
            Tensor(3, (1, 2), tile.dtype, 0)

    in_a_kernel(body)
