"""The examples of the vendor's function pages of neuronxcc.nki.isa: their shapes, operators and
forms, against NumPy in float64."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from isa_harness import integers, result_of, target, uniform


def hundreds(*shape):
    """Random numbers in [0, 100), as most examples have."""
    return uniform(*shape, low=0, high=100)


def _statistics(b):
    fmax = nl.tile_size.bn_stats_fmax
    count = b.shape[1] // fmax
    stats = nl.ndarray((128, 6 * count), dtype=nl.float32)
    i_p, i_f = nl.mgrid[0:128, 0:fmax]
    i_q, i_s = nl.mgrid[0:128, 0:6]
    for i in range(count):
        stats[i_q, i * 6 + i_s] = nisa.bn_stats(b[i_p, i * fmax + i_f], dtype=nl.float32)
    return nisa.bn_aggr(stats)


def _below_the_diagonal(a):
    i_p, i_f = nl.mgrid[0:128, 0:128]
    return nisa.affine_select(
        pred=(i_f < i_p), on_true_tile=a[i_p, i_f], on_false_value=nl.fp32.min
    )


def _predicated(predicate, on_true, on_false):
    i_p, i_f = nl.mgrid[0:128, 0:512]
    dst = nl.zeros(shape=on_true.shape, dtype=on_true.dtype)
    dst[i_p, i_f] = nl.copy(on_false)
    nisa.tensor_copy_predicated(src=on_true, dst=dst, predicate=predicate)
    return dst


def _in_two_halves(a, b):
    c = nl.ndarray((128, 1024), dtype=nl.float32)
    c[:, 0:512] = nisa.tensor_tensor_scan(
        a[:, 0:512], b[:, 0:512], initial=0, op0=np.multiply, op1=np.add
    )
    c[:, 512:1024] = nisa.tensor_tensor_scan(
        a[:, 512:1024], b[:, 512:1024], initial=c[:, 511:512], op0=np.multiply, op1=np.add
    )
    return c


def _recurrence(a, b):
    result = np.zeros(a.shape)
    before = np.zeros(a.shape[0])
    for i in range(a.shape[1]):
        before = result[:, i] = a[:, i] * before + b[:, i]
    return result


def _sum_of_16_products(a, b):
    total = nl.zeros((64, 512), nl.float32, buffer=nl.psum)
    for i in nl.affine_range(16):
        columns = nl.arange(64)[None, :]
        part = a[nl.arange(128)[:, None], i * 64 + columns]
        total += nisa.nc_matmul(part, b[:, i * 512 : (i + 1) * 512])
    return nl.copy(total)


def _products(a, b):
    return sum(a[:, i * 64 : i * 64 + 64].T @ b[:, i * 512 : i * 512 + 512] for i in range(16))


def _selected(predicate, on_true, on_false):
    result = nl.ndarray(on_true.shape, dtype=nl.float32)
    largest = nl.ndarray((128, 1), dtype=nl.float32)
    nisa.select_reduce(
        dst=result, predicate=predicate, on_true=on_true, on_false=on_false,
        reduce_cmd=nisa.reduce_cmd.reset_reduce, reduce_res=largest, reduce_op=nl.max,
    )  # fmt: skip
    return nisa.tensor_scalar(result, np.subtract, largest)


def _select(predicate, on_true, on_false):
    chosen = np.where(predicate, on_true, on_false)
    return chosen - chosen.max(axis=1, keepdims=True)


def _swapped(a):
    mask = list(range(16, 32)) + list(range(16))
    nisa.nc_stream_shuffle(src=a, dst=a, shuffle_mask=mask)
    return a


def _to_all_partitions(a):
    b = nl.ndarray((32, 128), dtype=nl.float32)
    i_p, i_f = nl.mgrid[0:1, 0:128]
    nisa.nc_stream_shuffle(src=a[i_p, i_f], dst=b, shuffle_mask=[0] * 32)
    return b


def _in_range(data, first, end):
    result = nl.ndarray(data.shape, dtype=nl.float32)
    largest = nl.ndarray((128, 1), dtype=nl.float32)
    result[...] = nisa.range_select(
        on_true_tile=data, comp_op0=np.greater_equal, comp_op1=np.less, bound0=first, bound1=end,
        range_start=32, on_false_value=nl.fp32.min, reduce_cmd=nisa.reduce_cmd.reset_reduce,
        reduce_res=largest, reduce_op=np.max,
    )  # fmt: skip
    return nl.maximum(result, largest)


def _range(data, first, end):
    position = 32 + np.arange(data.shape[1])
    kept = np.where((position >= first) & (position < end), data, nl.fp32.min)
    return np.maximum(kept, kept.max(axis=1, keepdims=True))


def _cumulative(a):
    result = nl.ndarray(a.shape, dtype=nl.float32)
    nisa.tensor_scalar_cumulative(
        dst=result, src=a, op0=nl.add, op1=nl.multiply, imm0=0.5,
        reduce_cmd=nisa.reduce_cmd.reset_reduce,
    )  # fmt: skip
    return result


COLUMNS = np.arange(512)[None, :]
ROWS = np.arange(128)[:, None]
i_f, i_p = (lambda: nl.arange(0, 512)[None, :]), (lambda: nl.arange(0, 128)[:, None])

#: function and what its page shows -> body of tiles, arrays, NumPy.
EXAMPLES = {
    "activation exp": (
        lambda a: nisa.activation(op=nl.exp, data=a), [uniform(128, 1024)], np.exp
    ),
    "activation scaled and shifted": (
        lambda b, c: nisa.activation(op=np.square, data=b, bias=c, scale=2.0),
        [hundreds(128, 512), hundreds(128, 1)],
        lambda b, c: np.square(b * 2 + c),
    ),
    "affine_select": (_below_the_diagonal, [hundreds(128, 128)],
                      lambda a: np.where(np.tri(128, k=-1) > 0, a, nl.fp32.min)),
    "bn_stats and bn_aggr": (
        _statistics, [hundreds(128, 1024)],
        lambda a: np.stack([a.mean(axis=1), a.var(axis=1)], axis=1),
    ),
    "tensor_copy_predicated": (
        _predicated,
        [integers(128, 512, high=2, dtype=np.uint8), hundreds(128, 512), hundreds(128, 512)],
        lambda p, a, b: np.where(p, a, b),
    ),
    "iota of columns": (lambda: nisa.iota(i_f(), dtype=nl.int32), [], lambda: COLUMNS),
    "iota of partitions": (lambda: nisa.iota(i_p(), dtype=nl.int32), [], lambda: ROWS),
    "iota downwards": (lambda: nisa.iota(i_f() * -1, dtype=nl.int32), [], lambda: -COLUMNS),
    "iota in steps": (lambda: nisa.iota(5 + i_p() * 2, dtype=nl.int32), [], lambda: 5 + ROWS * 2),
    "iota of both": (lambda: nisa.iota(i_f() + i_p(), dtype=nl.int32), [], lambda: COLUMNS + ROWS),
    "max8": (lambda a: nisa.max8(src=a), [hundreds(32, 128)],
             lambda a: -np.sort(-a, axis=1)[:, :8]),
    "nc_find_index8": (
        lambda a: nisa.nc_find_index8(data=a, vals=nisa.max8(src=a)), [hundreds(32, 128)],
        lambda a: np.argsort(-a, axis=1)[:, :8],
    ),
    "nc_match_replace8": (
        lambda a: nisa.nc_match_replace8(data=a[:, :], vals=nisa.max8(src=a), imm=-1.0),
        [hundreds(4, 16)],
        lambda a: np.where(a >= -np.sort(-a, axis=1)[:, 7:8], -1.0, a),
    ),
    "memset": (lambda: nisa.memset(shape=(128, 128), value=0.2, dtype=nl.float32), [],
               lambda: np.full((128, 128), 0.2)),
    "nc_matmul": (lambda a, b: nl.copy(nisa.nc_matmul(a, b)),
                  [uniform(128, 128), uniform(128, 512)], lambda a, b: a.T @ b),
    "nc_matmul in a loop": (
        _sum_of_16_products, [uniform(128, 16 * 64), uniform(128, 16 * 512)], _products
    ),
    "nc_stream_shuffle": (_swapped, [hundreds(32, 128)],
                          lambda a: np.concatenate([a[16:], a[:16]])),
    "nc_stream_shuffle as a broadcast": (
        _to_all_partitions, [hundreds(1, 128)], lambda a: np.repeat(a, 32, axis=0)
    ),
    "nc_transpose": (lambda a: nl.copy(nisa.nc_transpose(a)), [hundreds(128, 64)], np.transpose),
    "nc_transpose on Vector": (
        lambda a: nisa.nc_transpose(a, engine=nisa.vector_engine), [hundreds(32, 2)], np.transpose
    ),
    "tensor_partition_reduce": (
        lambda a: nisa.tensor_partition_reduce(np.add, a), [hundreds(128, 32, 4)],
        lambda a: a.sum(axis=0, keepdims=True),
    ),
    "range_select": (
        _in_range,
        [uniform(128, 512), integers(128, 1, low=32, high=200).astype(np.float32),
         integers(128, 1, low=200, high=540).astype(np.float32)],
        _range,
    ),
    "reciprocal": (nisa.reciprocal, [hundreds(128, 512) + 1], lambda a: 1 / a),
    "tensor_reduce": (lambda a: nisa.tensor_reduce(np.add, a, axis=[1]), [hundreds(128, 512)],
                      lambda a: a.sum(axis=1, keepdims=True)),
    "select_reduce": (
        _selected,
        [integers(128, 512, high=2, dtype=np.uint8), hundreds(128, 512), hundreds(128, 1)],
        _select,
    ),
    "tensor_copy": (lambda a: nisa.tensor_copy(a, engine=nisa.vector_engine), [hundreds(8, 8)],
                    lambda a: a),
    "tensor_scalar": (lambda a: nisa.tensor_scalar(a, np.subtract, 1.0), [hundreds(128, 512)],
                      lambda a: a - 1),
    "tensor_scalar reversed": (
        lambda a: nisa.tensor_scalar(a, np.subtract, 1.0, reverse0=True), [hundreds(128, 512)],
        lambda a: 1 - a,
    ),
    "tensor_scalar of two operators": (
        lambda e, f: nisa.tensor_scalar(
            e, op0=np.multiply, operand0=f, op1=np.add, operand1=2.5
        ),
        [hundreds(64, 1024), hundreds(64, 1)],
        lambda e, f: e * f + 2.5,
    ),
    "tensor_scalar_cumulative": (_cumulative, [uniform(128, 16, low=0.1)],
                                 lambda a: np.multiply.accumulate(a + 0.5, axis=1)),
    "tensor_tensor": (lambda a, b: nisa.tensor_tensor(a, b, op=nl.add),
                      [hundreds(128, 512), hundreds(128, 512)], lambda a, b: a + b),
    "tensor_tensor_scan": (_in_two_halves, [uniform(128, 1024), uniform(128, 1024)], _recurrence),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_computes_what_its_page_says(name):
    body, arrays, expected = EXAMPLES[name]
    wide = [array.astype(np.float64) if array.dtype == np.float32 else array for array in arrays]
    result = result_of(body, *arrays, language="old")
    np.testing.assert_allclose(result, expected(*wide), rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize("probability", ["a tile", "a number"])
def test_dropout_drops_about_its_probability(probability):
    a = hundreds(128, 512) + 1
    if probability == "a tile":
        b = np.repeat(np.linspace(0, 1, 128, dtype=np.float32)[:, None], 1, axis=1)
        dropped = result_of(lambda x, p: nisa.dropout(x, prob=p), a, b, language="old") == 0
        assert not dropped[0].any() and dropped[-1].all()
        assert abs(dropped.mean() - 0.5) < 0.02
    else:
        dropped = result_of(lambda x: nisa.dropout(x, prob=0.2), a, language="old") == 0
        assert abs(dropped.mean() - 0.2) < 0.02


def test_local_gather_takes_four_elements_per_index_for_each_core():
    source = hundreds(128, 512, 4)
    index = integers(16, 4, high=512, dtype=np.uint16)

    def body(buffer, indices):
        return nisa.local_gather(buffer, indices, 4, 64)

    result = result_of(body, source, np.tile(index, (8, 1)) * np.uint16(4), language="old")
    expected = source[:, index.T.ravel()].reshape(128, 4, 16, 4)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("source", ["hbm", "sbuf"])
def test_dma_transpose_of_16_rows(source):
    @nki.jit
    def kernel(a):
        turned = nisa.dma_transpose(a[:, :] if source == "hbm" else nl.load(a)[:, :])
        out = nl.ndarray(turned.shape, dtype=turned.dtype, buffer=nl.shared_hbm)
        nl.store(out, turned)
        return out

    a = hundreds(16, 128).astype(np.float16)
    for architecture in ("trn1", "trn2"):
        with target(architecture):
            np.testing.assert_array_equal(kernel(a), a.T)


@pytest.mark.parametrize(("step", "mode"), [(2, "error"), (3, "skip")])
def test_dma_copy_gathers_rows_and_skips_those_beyond(step, mode):
    @nki.jit
    def kernel(a):
        out = nl.ndarray((64, 512), dtype=a.dtype, buffer=nl.shared_hbm)
        rows = nisa.iota(step * nl.arange(64)[:, None], dtype=np.int32)
        tile = nisa.memset(shape=(64, 512), value=-1, dtype=a.dtype)
        i_p, i_f = nl.mgrid[0:64, 0:512]
        nisa.dma_copy(src=a[rows, i_f], dst=tile[i_p, i_f], oob_mode=nisa.oob_mode[mode])
        nl.store(out, value=tile)
        return out

    a = hundreds(128, 512)
    rows = step * np.arange(64)
    expected = np.where((rows < 128)[:, None], a[np.minimum(rows, 127)], -1)
    np.testing.assert_array_equal(kernel(a), expected)


def test_dma_copy_adds_to_the_rows_of_an_index():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
        i_p, i_f = nl.mgrid[0:64, 0:512]
        tile = nl.load(a[i_p, i_f])
        rows = nisa.iota(2 * nl.arange(64)[:, None], dtype=np.int32)
        nl.store(out, value=nisa.memset(shape=(128, 512), value=1, dtype=a.dtype))
        nisa.dma_copy(dst=out[rows, i_f], src=tile, dst_rmw_op=np.add)
        return out

    a = hundreds(64, 512)
    expected = np.ones((128, 512), np.float32)
    expected[::2] += a
    np.testing.assert_allclose(kernel(a), expected, rtol=1e-6)


def test_sequence_bounds_of_sorted_segments():
    segments = np.sort(integers(1, 64, low=1, high=8), axis=1)

    def body(ids):
        return nisa.sequence_bounds(segment_ids=ids)

    result = result_of(body, segments, language="old")
    first = [np.searchsorted(segments[0], each, "left") for each in segments[0]]
    end = [np.searchsorted(segments[0], each, "right") for each in segments[0]]
    np.testing.assert_array_equal(result.reshape(2, 64), np.stack([first, end]))
