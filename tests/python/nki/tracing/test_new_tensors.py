"""Tensors of the new language: views, access patterns, dynamic indices, cores."""

import ml_dtypes
import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, uniform
from neuron_sim.nki.tracing import current
from nki_errors import error_of

RANDOM = np.random.default_rng(5)


def through(view, shape, hbm=False):
    """A kernel that stores view(tile of its argument), or of the argument itself, in `shape`."""

    @nki.jit
    def kernel(a):
        seen = view(a if hbm else nl.load(a))
        assert seen.shape == shape
        builder = current().builder
        if hbm:
            tile = nl.ndarray(shape, a.dtype)
            builder.dma_copy(tile.access, seen.access)
            seen = tile
        return in_hbm(nl, seen)

    return kernel


A = uniform(8, 4, 6)


@pytest.mark.parametrize("hbm", [False, True], ids=["tile", "hbm"])
@pytest.mark.parametrize("view, expected", [
    (lambda t: t.slice(1, 1, 4), A[:, 1:4]),
    (lambda t: t.slice(dim=2, start=0, end=6, step=2), A[:, :, ::2]),
    (lambda t: t.select(1, 3), A[:, 3]),
    (lambda t: t.permute((0, 2, 1)), A.transpose(0, 2, 1)),
    (lambda t: t.slice(1, 2, 3).broadcast(1, 5), np.repeat(A[:, 2:3], 5, 1)),
    (lambda t: t.expand_dim(1), A[:, None]),
    (lambda t: t.expand_dim(1).squeeze_dim(1), A),
    (lambda t: t.reshape((8, 2, 12)), A.reshape(8, 2, 12)),
    (lambda t: t.reshape_dim(2, (3, -1)), A.reshape(8, 4, 3, 2)),
    (lambda t: t.flatten_dims(1, 2), A.reshape(8, 24)),
    (lambda t: t.rearrange(("b", "c", ("h", "w")), ("b", "w", ("c", "h")), {"h": 3}),
        A.reshape(8, 4, 3, 2).transpose(0, 3, 1, 2).reshape(8, 2, 12)),
    (lambda t: t[2:5, ..., 1], A[2:5, ..., 1]),
    (lambda t: t[..., nl.ds(2, 3)], A[..., 2:5]),
    (lambda t: t[:, -1], A[:, -1]),
], ids=range(14))  # fmt: skip
def test_views_are_those_of_numpy(view, expected, hbm):
    assert np.array_equal(through(view, expected.shape, hbm)(A), expected)


def test_dimensions_that_are_not_adjacent_cannot_be_merged():
    view = through(lambda t: t.permute((0, 2, 1)).flatten_dims(1, 2), (8, 24))
    assert error_of(view, A) == (
        "flatten_dims of 'seen[8, 6, 4]': dimensions 1 to 2 are not contiguous in memory."
    )


def test_an_int_on_partitions_keeps_them_and_on_hbm_drops_the_dimension():
    assert np.array_equal(through(lambda t: t[0], (1, 4, 6))(A), A[0:1])
    assert np.array_equal(through(lambda t: t[3], (4, 6), hbm=True)(A), A[3])


def test_patterns_and_offsets_count_elements_of_the_storage():
    seen = []

    @nki.jit
    def kernel():
        t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        u = t.slice(dim=1, start=8, end=24)
        seen.extend([u.get_pattern(), u.offset, u.is_contiguous(), t[2:4, 8:].offset])
        seen.append(t.ap(pattern=[[64, 128], [1, 16]], offset=8).get_pattern())
        seen.extend([t.permute((0, 1)).is_contiguous(), t[:, ::2].is_contiguous()])
        seen.extend([t.is_indirect(), t.size, t.strides])

    kernel()
    assert seen == [
        *([[64, 128], [1, 16]], 8, True, 2 * 64 + 8),
        [[64, 128], [1, 16]],
        *(True, False, False, 128 * 64, (64, 1)),
    ]


def test_an_access_pattern_addresses_the_storage():
    b = A.reshape(8, 24)
    kernel = through(
        lambda t: t[1:, 2:].ap([[24, 4], [7, 2], [2, 3]], offset=2 * 24 + 1), (4, 2, 3)
    )
    expected = np.stack([b[2:6, 1 + 7 * i : 6 + 7 * i : 2] for i in range(2)], 1)
    assert np.array_equal(kernel(b), expected)
    kernel = through(lambda t: t.ap([[1, 6], [25, 4]], offset=3), (6, 4), hbm=True)
    flat = b.reshape(-1)
    assert np.array_equal(kernel(b), [[flat[3 + i + 25 * j] for j in range(4)] for i in range(6)])


def test_a_pattern_with_the_partition_step_of_a_dense_view_counts_in_the_view():
    b = A.reshape(8, 24)
    kernel = through(lambda t: t[1:6, 4:16].ap([[12, 3], [2, 4]], offset=12 + 3), (3, 4))
    assert np.array_equal(kernel(b), b[2:5, 4 + 3 : 4 + 11 : 2])
    for offset in (0, None):
        half = through(lambda t, o=offset: t[0:8, 12:24].ap([[12, 8], [1, 12]], offset=o), (8, 12))
        assert np.array_equal(half(b), b[:, 12:])
    sparse = through(lambda t: t[0:8, 0:24:2].ap([[12, 8], [1, 12]], offset=0), (8, 12))
    assert "the step 12 of the partition dimension must be the 24 elements" in error_of(sparse, b)


def test_the_partition_step_of_an_access_pattern_is_fixed():
    kernel = through(lambda t: t.ap([[48, 4], [1, 24]]), (4, 24))
    assert error_of(kernel, A.reshape(8, 24)) == (
        "ap of 'seen[8, 24]': the step 48 of the partition dimension must be the 24 elements of a "
        "partition."
    )


def test_a_view_of_another_dtype_scales_the_last_dimension():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((8, 48), dtype=nl.bfloat16, buffer=nl.shared_hbm)
        again = nl.ndarray((8, 24), dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(a)
        nl.store(out, tile.view(nl.bfloat16))
        nl.store(again, tile.ap([[48, 8], [1, 48]], dtype=nl.bfloat16).view(nl.float32))
        return out, again

    b = A.reshape(8, 24)
    out, again = kernel(b)
    assert np.array_equal(out.view(np.uint16), b.view(np.uint16))
    assert out.dtype == ml_dtypes.bfloat16 and np.array_equal(again, b)


@pytest.mark.parametrize("view, message", [
    (lambda t: t.permute((1, 0, 2)), "permute of"),
    (lambda t: t.broadcast(0, 8), "broadcast of"),
    (lambda t: t.flatten_dims(0, 1), "flatten_dims of"),
    (lambda t: t.expand_dim(0), "expand_dim of"),
    (lambda t: t.reshape_dim(0, (2, 4)), "reshape_dim of"),
])  # fmt: skip
def test_the_partition_dimension_stays_as_it_is(view, message):
    raised = error_of(through(view, A.shape), A)
    assert raised.startswith(message) and raised.endswith(
        "dimension 0 is the partition dimension, which stays as it is."
    )


def test_a_row_may_be_selected_while_the_kernel_runs():
    @nki.jit
    def kernel(a, index):
        row = nl.load(index)
        return in_hbm(nl, nl.load(a.select(0, row)))

    for row in range(8):
        index = np.array([[row]], np.int32)
        assert np.array_equal(kernel(A, index), A[row])


def test_rows_may_be_selected_per_partition():
    @nki.jit
    def kernel(a, index):
        rows = nl.load(index)
        view = a.vector_select(0, rows)
        assert view.is_indirect()
        return in_hbm(nl, nl.load(view))

    index = RANDOM.integers(0, 8, (11, 1)).astype(np.int32)
    assert np.array_equal(kernel(A, index), A[index[:, 0]])


@pytest.mark.parametrize("view, expected", [
    (lambda t: t[:, 1:3], lambda a: a[:, 1:3]),
    (lambda t: t.reshape((8, 2, 12)), lambda a: a.reshape(8, 2, 12)),
    (lambda t: t.expand_dims(1), lambda a: a[:, None]),
    (lambda t: t.view(nl.int16), lambda a: a.view(np.int16)),
    (lambda t: t[2:4], "a tile holds the indices of its dimension 0, which stays as it is."),
    (lambda t: t.reshape((4, 48)), "a tile holds the indices of its dimension 0"),
], ids=range(6))  # fmt: skip
def test_views_of_rows_that_a_tile_selects_are_views_of_those_rows(view, expected):
    kernel = nki.jit(lambda a, i: in_hbm(nl, nl.load(view(a.vector_select(0, nl.load(i))))))
    index = np.array([[5], [2], [7], [7], [0], [1], [6], [3]], np.int32)
    if isinstance(expected, str):
        assert expected in error_of(kernel, A, index)
    else:
        assert np.array_equal(kernel(A, index), expected(A[index[:, 0]]))


def test_a_dynamic_range_is_a_counted_loop_and_fori_loop_too():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for i in nl.dynamic_range(0, 8, 2):
            nl.store(out[i], nl.load(a[i]))

        def body(i):
            nl.store(out[2 * i + 1], nl.load(a[i * 2 + 1]))

        nl.fori_loop(0, 4, body)
        return out

    assert np.array_equal(kernel(A), A)
    assert kernel.traced(A).source.instructions == 4


def test_the_cores_of_a_logical_core_run_side_by_side():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        half = a.shape[0] // nl.num_programs(0)
        rows = nl.ds(nl.program_id(0) * half, half)
        nl.store(out[rows], nl.load(a[rows]) + nl.program_id(0))
        return out

    expected = A.copy()
    expected[4:] += 1
    assert np.array_equal(kernel[2](A), expected)
    assert np.array_equal(kernel[1](A), A)
    assert np.array_equal(kernel(A), A)


def test_a_grid_is_a_number_of_cores():
    kernel = through(lambda t: t, A.shape)
    assert error_of(lambda: kernel[2, 2]) == (
        "the grid of a kernel is the number of cores of a logical core (LNC), but kernel 'kernel' "
        "got [2, 2]."
    )
    assert error_of(kernel[3], A, kind=IndexError) == (
        "kernel 'kernel': core(2) does not exist; a logical core of architecture trn2 has 2 cores."
    )


def test_the_platform_is_chosen_by_the_environment(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "gen2")
    copy = through(lambda t: t, A.shape)
    assert copy.traced(A).architecture == "trn1"
    assert nki.jit(copy.func, platform_target="trn3").traced(A).architecture == "trn1"


def test_a_kernel_may_name_its_platform(monkeypatch):
    monkeypatch.delenv("NEURON_PLATFORM_TARGET_OVERRIDE", raising=False)
    monkeypatch.delenv("NEURON_SIM_ARCH", raising=False)
    copy = through(lambda t: t, A.shape)
    assert nki.jit(platform_target="gen4")(copy.func).traced(A).architecture == "trn3"
    message = error_of(nki.jit(copy.func, platform_target="trn7").traced, A)
    assert "architecture 'trn7' is unknown" in message


def test_a_buffer_is_no_string():
    @nki.jit
    def kernel():
        nl.ndarray((128, 4), dtype=nl.float32, buffer="sbuf")

    assert error_of(kernel, kind=TypeError) == "buffer 'sbuf' is a string; use nl.sbuf."


def test_a_name_that_is_not_there_is_named():
    assert error_of(lambda: nl.no_such_symbol, kind=AttributeError) == (
        "module 'nki.language' has no attribute 'no_such_symbol'."
    )


def test_the_step_of_a_dynamic_range_is_a_positive_int():
    @nki.jit
    def kernel(a, step):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(a))
        for i in nl.dynamic_range(1, 8, step):
            nl.store(out[i], 0.0)
        return out

    expected = A.copy()
    expected[1::3] = 0
    assert np.array_equal(kernel(A, 3), expected)
    for step in (0, -1, 1.0):
        assert error_of(kernel, A, step, kind=AssertionError).startswith(
            f"dynamic_range: step {step!r} is not a positive int known when the kernel is compiled."
        )


def test_files_of_constants_that_hold_no_array_are_refused(tmp_path):
    text, several = tmp_path / "text.npy", tmp_path / "several.npz"
    text.write_text("no array")
    np.savez(several, a=np.ones(2), b=np.ones(3))

    def constant(path):
        @nki.jit
        def kernel(a):
            return nl.shared_constant(path)

        return error_of(kernel, np.ones((2, 2), np.float32))

    missing = tmp_path / "missing.npy"
    assert f"file '{missing}' cannot be read as an array (.npy): " in constant(missing)
    assert f"file '{text}' cannot be read as an array (.npy): " in constant(str(text))
    assert f"file '{several}' holds several arrays." in constant(several)


@pytest.mark.parametrize("view, message", [
    (lambda t: t.reshape(-2, -96), "cannot reshape tensor 'seen[8, 4, 6]' to [-2, -96]: the number "
     "of elements differs."),
    (lambda t: t.reshape((-1, 0)), "cannot reshape tensor 'seen[8, 4, 6]' to [0, 0]: the number of "
     "elements differs."),
    (lambda t: t.expand_dims(-9), "expand_dims of 'seen[8, 4, 6]': no dimension can be added at "
     "-9."),
    (lambda t: nl.ndarray((2, nl.par_dim(4), 6), nl.float32).permute((1, 0, 2)), "permute of "
     "'tensor[2, 4, 6]': dimension 1 is the partition dimension, which stays as it is."),
])  # fmt: skip
def test_a_shape_that_a_tile_does_not_have_is_refused(view, message):
    assert error_of(through(view, A.shape), A) == message
