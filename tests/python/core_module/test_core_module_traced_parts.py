"""Parts of tensors that a kernel names again, see core_module/tracing/traced_parts.cpp."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest

COLUMNS = 64
VALUES = np.arange(128 * COLUMNS, dtype=np.float32).reshape(128, COLUMNS)


def traced(body):
    """What body(tile) returns in a kernel with a tile of VALUES."""
    found = []

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        x = nl.load(a)
        found.append(body(x))
        nl.store(out, x)
        return out

    kernel.call(VALUES).trace_anew()
    return found[-1]


@pytest.mark.parametrize(
    "index",
    [
        lambda: np.s_[:, 4:8],
        lambda: np.s_[0:32, 4:8:2],
        lambda: (slice(None), nl.ds(4, 4)),
        lambda: (nl.arange(128)[:, None], 8 + nl.arange(4)[None, :]),
    ],
)
def test_a_part_at_the_same_index_is_the_part_made_before(index):
    assert traced(lambda x: x[index()] is x[index()])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: np.s_[:, 4:8], lambda: np.s_[:, 4:9]),
        (lambda: np.s_[:, 4:8], lambda: np.s_[:, 4:8:2]),
        (lambda: np.s_[:, 4:8], lambda: (slice(None), nl.ds(4, 5))),
        (lambda: np.s_[:, 1:2], lambda: np.s_[:, 2]),
        (
            lambda: (nl.arange(128)[:, None], nl.arange(4)[None, :]),
            lambda: (nl.arange(128)[:, None], nl.arange(5)[None, :]),
        ),
    ],
)
def test_a_part_at_another_index_is_another(one, other):
    parts = traced(lambda x: (x[one()], x[other()], x[one()]))
    assert parts[0] is not parts[1]
    described = [(each.shape, each.steps, each.start) for each in parts]
    assert described[0] == described[2] != described[1]


def test_parts_of_two_tiles_are_not_mistaken_for_each_other():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for first in nl.static_range(0, COLUMNS, 8):
            x = nl.load(a[:, first : first + 8])
            y = nl.ndarray((nl.par_dim(128), 8), dtype=a.dtype, buffer=nl.sbuf)
            y[:, 0:4] = nl.copy(x[:, 4:8])
            y[:, 4:8] = nl.copy(x[:, 0:4])
            nl.store(out[:, first : first + 8], y)
        return out

    expected = VALUES.reshape(128, -1, 2, 4)[:, :, ::-1].reshape(VALUES.shape)
    np.testing.assert_array_equal(kernel(VALUES), expected)


def test_a_part_at_the_variable_of_another_loop_is_another():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        x = nl.load(a)
        for i in nl.affine_range(4):
            nl.store(out[:, nl.ds(i * 8, 8)], x[:, nl.ds(i * 8, 8)])
        for i in nl.affine_range(8):
            nl.store(out[:, nl.ds(i * 8, 8)], x[:, nl.ds(i * 8, 8)])
        return out

    np.testing.assert_array_equal(kernel(VALUES), VALUES)


def test_a_part_that_is_out_of_range_is_refused_each_time():
    def body(x):
        texts = []
        for _ in range(2):
            with pytest.raises(IndexError) as caught:
                x[:, COLUMNS]
            texts.append(str(caught.value))
        return texts

    first, again = traced(body)
    assert first == again
