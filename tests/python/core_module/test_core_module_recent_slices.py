"""Parts of tensors that a kernel names again, see core_module/tracing/recent_slices.cpp."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import neuron_sim.nki as new_nki
import neuron_sim.nki.isa as new_nisa
import neuron_sim.nki.language as new_nl
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


def traced_in_the_new_language(body, in_hbm=False):
    """The same of body(tile), or of the kernel's argument."""
    found = []

    @new_nki.jit
    def kernel(a):
        out = new_nl.ndarray(a.shape, dtype=a.dtype, buffer=new_nl.shared_hbm)
        x = new_nl.ndarray(a.shape, dtype=a.dtype, buffer=new_nl.sbuf)
        new_nisa.dma_copy(dst=x, src=a)
        found.append(body(a if in_hbm else x))
        new_nisa.dma_copy(dst=out, src=x)
        return out

    kernel.call(VALUES).trace_anew()
    return found[-1]


@pytest.mark.parametrize("index", [
    lambda: np.s_[:, 4:8],
    lambda: np.s_[0:32, 4:8:2],
    lambda: (slice(None), nl.ds(4, 4)),
    lambda: (nl.arange(128)[:, None], 8 + nl.arange(4)[None, :]),
])  # fmt: skip
def test_a_part_at_the_same_index_is_the_part_made_before(index):
    assert traced(lambda x: x[index()] is x[index()])


@pytest.mark.parametrize(("one", "other"), [
    (lambda: np.s_[:, 4:8], lambda: np.s_[:, 4:9]),
    (lambda: np.s_[:, 4:8], lambda: np.s_[:, 4:8:2]),
    (lambda: np.s_[:, 4:8], lambda: (slice(None), nl.ds(4, 5))),
    (lambda: np.s_[:, 1:2], lambda: np.s_[:, 2]),
    (lambda: (nl.arange(128)[:, None], nl.arange(4)[None, :]),
        lambda: (nl.arange(128)[:, None], nl.arange(5)[None, :])),
])  # fmt: skip
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


def test_a_pattern_of_the_same_numbers_is_the_one_made_before():
    def body(x):
        pattern = [[COLUMNS, 128], [2, 8]]
        again = x.ap([[COLUMNS, 128], [2, 8]], offset=4) is x.ap(pattern, offset=4)
        others = [
            x.ap(pattern, offset=4) is x.ap(pattern, offset=5),
            x.ap(pattern, offset=4) is x.ap([[COLUMNS, 128], [2, 9]], offset=4),
            x.ap(pattern, offset=4) is x.ap([[COLUMNS, 128], [1, 8]], offset=4),
        ]
        return again, others

    assert traced_in_the_new_language(body) == (True, [False] * 3)


def test_a_pattern_at_an_index_tile_leaves_the_plain_one_as_it_is():
    def body(x):
        rows = new_nl.ndarray((128, 1), dtype=new_nl.int32, buffer=new_nl.sbuf)
        pattern = [[COLUMNS, 128], [1, COLUMNS]]
        before = x.ap(pattern, offset=0)
        x.ap(pattern, offset=0, vector_offset=rows)
        after = x.ap(pattern, offset=0)
        return before.index, after.index

    assert traced_in_the_new_language(body, in_hbm=True) == (None, None)


def test_a_pattern_in_numbers_is_no_subscript():
    def body(x):
        x.ap([[COLUMNS, 128], [1, 8]], offset=4)
        numbers = np.array([COLUMNS, 128, 1, 8], np.int64).tobytes()
        for index in ((numbers, 4), numbers):
            with pytest.raises((TypeError, ValueError, IndexError)):
                x[index]

    traced_in_the_new_language(body)


def test_a_masked_part_of_another_box_is_another():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        i_p, i_f = nl.arange(128)[:, None], nl.arange(COLUMNS)[None, :]
        for limit in (8, 40, 8, COLUMNS):
            x = nl.load(a[i_p, i_f], mask=(i_f < limit))
            nl.store(out[i_p, i_f], x, mask=(i_f < limit) & (i_f >= limit - 8))
        nl.store(out[:, 8:32], nl.load(a[:, 8:32]))
        nl.store(out[:, 40:56], nl.load(a[:, 40:56]))
        return out

    np.testing.assert_array_equal(kernel(VALUES), VALUES)
