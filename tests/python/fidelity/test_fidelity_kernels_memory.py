"""Fidelity kernels that move data: what they compute, and which texts they know."""

import numpy as np
import pytest
from neuron_sim import _core
from neuron_sim.fidelity.kernels import dma, engine, transpose, vector_add
from neuron_sim.fidelity.measurement import load_measurements, parse_measurement

PUBLISHED = load_measurements()


def measurement(**texts):
    entry = {"id": "x", "arch": "trn2", "value": 1, "dtype": "float32", "metric": "NC latency"}
    return parse_measurement(entry | texts)


def normal(*shape, dtype=np.float32):
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("architecture", ["trn1", "trn2"])
@pytest.mark.parametrize(("variant", "size", "rows", "columns"), [
    ("tiled", 21, 7, 1),
    ("tiled", 3, 1, 1),
    ("stream", 128 * 15, 128, 5),
    ("alloc", 128 * 54, 128, 9),
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_vectors_are_added(architecture, variant, size, rows, columns, dtype):
    kernel = vector_add.VectorAdd(architecture, variant, size, rows, columns, dtype)
    a, b = normal(size, dtype=dtype), normal(size, dtype=dtype)[::-1].copy()
    c = np.zeros_like(a)
    kernel.build().run([a, b, c])
    assert np.array_equal(c, a + b)


@pytest.mark.parametrize(("kernel", "shapes", "tile"), [
    ("vector_add_tiled ROW_CHUNK=1", "(25600,)", (1, 1)),
    ("vector_add_tiled row_chunk = 64", "25600", (64, 1)),
    ("vector_add_stream FREE_DIM=200", "(25600,)", (128, 200)),
])  # fmt: skip
def test_vector_add_reads_its_tile(kernel, shapes, tile):
    entry = measurement(family="vector_add", kernel=kernel, shapes=shapes)
    program = vector_add.match(entry).launches[0].build()
    assert tuple(program.arguments[0]["shape"][1:]) == tile


@pytest.mark.parametrize(("kernel", "shapes"), [
    ("vector_add_tiled ROW_CHUNK=256", "(25600,)"),  # more than the partitions
    ("vector_add_tiled ROW_CHUNK=0", "(25600,)"),
    ("vector_add_stream FREE_DIM=3", "(25600,)"),  # does not divide the vector
    ("vector_add_stream", "(25600,)"),
    ("vector_subtract FREE_DIM=2", "(25600,)"),
    ("vector_add_direct_allocation_bad FREE_DIM=2", "(25600,)"),
])  # fmt: skip
def test_vector_add_says_none_to_what_the_kernel_cannot_do(kernel, shapes):
    assert vector_add.match(measurement(family="vector_add", kernel=kernel, shapes=shapes)) is None


@pytest.mark.parametrize("architecture", ["trn1", "trn2"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_matrix_is_transposed(architecture, dtype):
    kernel = transpose.Transpose(architecture, 128, 384, dtype)
    x, out = normal(128, 384, dtype=dtype), np.zeros((384, 128), dtype)
    kernel.build().run([x, out])
    assert np.array_equal(out, x.T)


@pytest.mark.parametrize("mode", ["read", "write"])
@pytest.mark.parametrize(("partitions", "columns", "repeat"), [(128, 33, 3), (1, 1, 1), (5, 7, 2)])
def test_bulk_copies_move_what_they_say(mode, partitions, columns, repeat):
    kernel = dma.BulkCopy("trn1", mode, partitions, columns, repeat, "float32")
    x = normal(repeat, partitions, columns)
    expected = {"read": x.sum(axis=2, keepdims=True, dtype=np.float64)}
    expected["write"] = np.broadcast_to(x[0], x.shape)
    out = np.zeros(expected[mode].shape, np.float32)
    program = kernel.build()
    program.run([x, out])
    np.testing.assert_allclose(out, expected[mode], atol=1e-4)
    transfers = {"read": 2 * repeat, "write": repeat + 1}
    assert program.time()["dma_transfers"] == transfers[mode]


def test_a_strided_store_leaves_gaps():
    x, out = normal(5, 7), np.zeros((5, 21), np.float32)
    dma.build_strided_store("trn1", 5, 7, 3, "float32").run([x, out])
    assert np.array_equal(out[:, ::3], x)
    assert not out[:, 1::3].any()


def test_the_pointer_chase_walks_the_ring():
    table = ((np.arange(64, dtype=np.uint32) + 17) % 64).reshape(64, 1)
    out = np.zeros((1, 1), np.uint32)
    dma.build_pointer_chase("trn1", 5, 64).run([table, out])
    assert out[0, 0] == 17 * 6 % 64  # the seed's load is a hop as well


def round_trips(trips):
    """Each trip stores a tile, loads it back and copies it."""
    builder = _core.Builder("round_trips", "trn1")
    x, state = (builder.argument(name, [128, 16]) for name in ("x", "state"))
    tile, loaded = (builder.sbuf(name, [128, 16]) for name in ("tile", "loaded"))
    builder.dma_copy(tile, x)
    for trip in range(trips):
        builder.dma_copy(state, tile)
        builder.dma_copy(loaded, state)
        tile = builder.sbuf(f"carry{trip}", [128, 16])
        builder.tensor_copy(tile, loaded, engine="vector")
    builder.dma_copy(state, tile)
    return builder.finish()


def test_dma_is_active_from_the_first_packet_to_the_completion_but_not_in_between():
    program = round_trips(2)
    transfers = [s for s in program.steps() if s["kind"] == "transfer"]
    spans = sorted((s["start_ns"], s["done_ns"]) for s in transfers)
    assert all(done <= start for (_, done), (start, _) in zip(spans, spans[1:], strict=False))
    expected = sum(done - start for start, done in spans) / 1e3
    timing = program.time()
    assert timing["dma_active_us"] == pytest.approx(expected)
    assert timing["dma_load_bytes"] == timing["dma_bytes"] / 2
    assert 0 < timing["dma_load_active_us"] < timing["dma_active_us"]


@pytest.mark.parametrize(("kernel", "shapes", "unit", "transfers"), [
    ("dma_bandwidth read sweep", "128 x 512 B", "GB/s", 8),
    ("dma_partition_surface read (single transfer)", "16 x 512 B", "GB/s", 2),
    ("dma_write_partition_surface", "64 x 128 B", "GB/s", 17),
    ("stride-2 HBM store", "16 x 128", "us", 2),
    ("memory_read", "8 MiB", "us", 2),
])  # fmt: skip
def test_dma_tests_are_told_apart(kernel, shapes, unit, transfers):
    entry = measurement(family="dma", kernel=kernel, shapes=shapes, unit=unit, arch="inf2")
    program = dma.match(entry).launches[0].build()
    assert program.time()["dma_transfers"] == transfers


def test_dma_says_none_to_unknown_tests():
    for kernel, shapes in (
        ("dma_transpose surface", "128 x 128 B"),
        ("dma_bandwidth read", "-"),
        ("dma_bandwidth roundtrip", "128 x 4096 B"),
    ):
        assert dma.match(measurement(family="dma", kernel=kernel, shapes=shapes)) is None


def test_products_are_sums_of_repeats():
    m, k, n, repeat = 5, 9, 13, 11
    test = engine.EngineTest("trn1", "Tensor", (m, k, n), repeat, "float32")
    lhs, rhs, out = normal(k, m), normal(k, n), np.zeros((1, m, n), np.float32)
    test.build().run([lhs, rhs, out])
    expected = repeat * (lhs.T.astype(np.float64) @ rhs)
    np.testing.assert_allclose(out[0], expected, atol=1e-4)


def test_exponentials_are_added():
    test = engine.EngineTest("trn1", "Scalar", (7, 5), 3, "float32")
    x = normal(7, 5) / 8
    out = np.zeros_like(x)
    test.build().run([x, out])
    expected = sum(np.exp(scale * x.astype(np.float64)) for scale in (1, 2, 3))
    np.testing.assert_allclose(out, expected, rtol=1e-4)


def test_engine_rates_count_only_the_time_in_which_the_engine_is_active():
    entry = measurement(
        family="engine", arch="inf2", kernel="tensor_matmul bf16", dtype="bfloat16",
        description="sustained 128x128x512 matmuls", unit="TFLOP/s",
    )  # fmt: skip
    case = engine.match(entry)
    timing = case.launches[0].build().time()
    active = timing["utilisation"]["Tensor"] * timing["body_us"]
    flops = 16 * 2 * 128 * 128 * 512
    assert case.reading([timing]) == pytest.approx(flops / active / 1e6)
    assert active < timing["body_us"] / 2


@pytest.mark.parametrize("module", [vector_add, transpose, dma, engine])
def test_every_published_measurement_of_the_family_has_a_kernel(module):
    family = module.__name__.rsplit(".", 1)[1]
    entries = [entry for entry in PUBLISHED if entry.family == family]
    assert entries
    for entry in entries:
        case = module.match(entry)
        assert case is not None, entry.id
        assert case.launches[0].build().instructions > 0
