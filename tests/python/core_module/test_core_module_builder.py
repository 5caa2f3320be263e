"""Builder, View and Program of neuron_sim._core: kernels written in Python."""

import numpy as np
import pytest
from neuron_sim import _core


def scaled_sum(architecture: str = "trn2", rows: int = 5, columns: int = 7):
    """z = 2 x + y through a scratch tensor, one row block per iteration."""
    builder = _core.Builder("scaled_sum", architecture)
    x = builder.argument("x", [rows, 3, columns])
    y = builder.argument("y", [rows, 3, columns])
    z = builder.argument("z", [rows, 3, columns])
    doubled = builder.scratch("doubled", [rows, 3, columns])

    def double(i):
        tile = builder.sbuf("tile", [3, columns])
        builder.dma_copy(tile, x[i])
        builder.tensor_scalar(tile, tile, "multiply", 2.0)
        builder.dma_copy(doubled[i], tile)

    def add(i):
        left = builder.sbuf("left", [3, columns])
        right = builder.sbuf("right", [3, columns])
        builder.dma_copy(left, doubled[i])
        builder.dma_copy(right, y[i])
        builder.tensor_tensor(left, left, right, "add")
        builder.dma_copy(z[i], left)

    builder.loop(rows, double)
    builder.loop(rows, add)
    return builder.finish()


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_program_computes_through_scratch_tensors(rows):
    random = np.random.default_rng(0)
    x, y = (random.standard_normal((rows, 3, 7), dtype=np.float32) for _ in range(2))
    z = np.zeros_like(x)
    scaled_sum(rows=rows).run([x, y, z])
    np.testing.assert_allclose(z, 2 * x.astype(np.float64) + y, rtol=1e-6)


def test_scratch_that_nothing_wrote_reads_as_nan():
    builder = _core.Builder("fresh")
    result = builder.argument("result", [2, 3])
    tile = builder.sbuf("tile", [2, 3])
    builder.dma_copy(tile, builder.scratch("scratch", [2, 3]))
    builder.dma_copy(result, tile)
    host = np.zeros((2, 3), np.float32)
    builder.finish().run([host])
    assert np.isnan(host).all()


def test_the_next_load_of_scratch_waits_for_the_store():
    steps = scaled_sum(rows=1).steps()
    transfers = [step for step in steps if step["unit"] == "dma"]
    store = next(step for step in transfers if step["index"] == 2 and step["kind"] == "transfer")
    load = next(step for step in transfers if step["index"] == 3 and step["kind"] == "trigger")
    assert load["start_ns"] >= store["done_ns"]


def test_a_program_lists_its_arguments_and_knows_its_time():
    program = scaled_sum()
    assert [a["label"] for a in program.arguments] == ["x", "y", "z"]
    assert [a["written"] for a in program.arguments] == [False, False, True]
    timing = program.time()
    assert 0 < timing["body_us"] < timing["latency_us"] < timing["profile_us"]
    assert timing["instructions"] == 5 * 3 + 5 * 4
    assert program.architecture == "trn2" and program.kernel == "scaled_sum"
    assert "loop i0 < 5" in program.listing()


def test_every_step_lies_within_the_body():
    program = scaled_sum()
    end = program.time()["body_us"] * 1e3
    for step in program.steps():
        assert 0 <= step["start_ns"] <= step["end_ns"] <= end + 1e-6
        assert step["start_ns"] <= step["done_ns"] <= end + 1e-6


@pytest.mark.parametrize(("index", "shape"), [
    ((slice(None), slice(1, 6)), [4, 5]), ((slice(0, 2), slice(0, 7, 3)), [2, 3]), ((1,), [1, 8]),
    ((slice(2, None),), [2, 8]),
])  # fmt: skip
def test_tiles_are_indexed_like_arrays(index, shape):
    tile = _core.Builder("index").sbuf("tile", [4, 8])
    assert tile[index].shape == shape


def test_an_index_of_an_hbm_dimension_removes_it():
    tensor = _core.Builder("index").argument("x", [6, 4, 8])
    assert tensor[3].shape == [4, 8]
    assert tensor[3, :, 2:5].shape == [4, 3]


@pytest.mark.parametrize(("index", "error"), [
    ((slice(0, 5),), "index range [0, 4] exceed dimension size of 4"),
    ((slice(0, 4), slice(3, 9)), "index range [3, 8] exceed dimension size of 8"),
    ((0, 0, 0), "too many indices: 3 for tile[4, 8]"),
])  # fmt: skip
def test_an_index_outside_of_a_tile_is_refused(index, error):
    tile = _core.Builder("index").sbuf("tile", [4, 8])
    with pytest.raises(IndexError) as raised:
        tile[index]
    assert error in str(raised.value)


def test_a_slice_whose_size_follows_a_loop_is_refused():
    builder = _core.Builder("index")
    tile = builder.sbuf("tile", [4, 8])
    with pytest.raises(ValueError, match="the size of a slice depends on a loop variable"):
        builder.loop(3, lambda i: tile[:, 0:i])


def test_a_refused_instruction_leaves_the_builder_usable():
    builder = _core.Builder("matmul")
    a, b = builder.sbuf("a", [128, 128]), builder.sbuf("b", [128, 513])
    result = builder.psum("result", [128, 512])
    with pytest.raises(ValueError, match="513"):
        builder.nc_matmul(result, a, b)
    builder.nc_matmul(result, a, b[:, 0:512])
    assert builder.finish().instructions == 1


@pytest.mark.parametrize(("call", "error"), [
    (lambda b, t: b.tensor_tensor(t, t, t, "plus"), "operator 'plus' is unknown"),
    (lambda b, t: b.activation(t, "swish2", t), "activation function 'swish2' is unknown"),
    (lambda b, t: b.tensor_copy(t, t, engine="dve"), "engine 'dve' is unknown"),
    (lambda b, t: b.sbuf("x", [2, 2], "float99"), "dtype 'float99' is unknown"),
    (lambda b, t: b.place("hbm", "x", [2, 2], "float32", 0), "memory 'hbm' is unknown"),
    (lambda b, t: b.constant("c", [2, 2], "float32", b"1234"), "its shape needs 16"),
])  # fmt: skip
def test_unknown_names_are_refused(call, error):
    builder = _core.Builder("names")
    with pytest.raises(ValueError) as raised:
        call(builder, builder.sbuf("tile", [4, 4]))
    assert error in str(raised.value)


@pytest.mark.parametrize(("arrays", "error"), [
    ([np.zeros(4, np.float32)], "has 3 arguments, not 1"),
    ([np.zeros(4, np.float32)] * 3, "argument 'x' has 84 bytes, the array has 16"),
])  # fmt: skip
def test_run_refuses_arrays_that_do_not_fit(arrays, error):
    with pytest.raises(ValueError, match=error):
        scaled_sum(rows=1).run(arrays)


def test_an_exception_in_a_loop_body_reaches_the_caller():
    builder = _core.Builder("exception")

    def body(i):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        builder.loop(3, body)


def test_a_program_is_timed_with_the_parameters_of_another_file(tmp_path):
    slower = tmp_path / "slower.toml"
    slower.write_text(
        'base = "trn2"\n[dma.hardware_first_load]\nvalue = 9000\nunit = "ns"\n'
        'source = "test"\ncertainty = "assumed"\n'
    )
    program = scaled_sum()
    longer = program.time(architecture=str(slower))["body_us"]
    assert longer > program.time()["body_us"] == program.time(architecture="trn2")["body_us"]
    with pytest.raises(ValueError, match="was built for trn2; it cannot be timed as trn1"):
        program.time(architecture="trn1")


def test_steps_are_timed_like_the_program():
    builder = _core.Builder("matmuls")
    a, b = builder.sbuf("a", [128, 128], "bfloat16"), builder.sbuf("b", [128, 512], "bfloat16")
    result = builder.psum("result", [128, 512])
    for _ in range(40):
        builder.nc_matmul(result, a, b, accumulate=False)
    program = builder.finish()
    for options in ({}, {"clock_phase_ns": 1000.0}, {"starts_warm": True}):
        last = max(step["done_ns"] for step in program.steps(**options))
        assert last == pytest.approx(program.time(**options)["body_us"] * 1e3)
    assert program.time(starts_warm=True)["body_us"] < program.time()["body_us"]
