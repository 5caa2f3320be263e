"""Loops, scopes and cores opened and closed by Python; affine indices; patterns on a storage."""

import numpy as np
import pytest
from neuron_sim import _core


def counted(builder, trip_count):
    """The loop as a generator."""
    if trip_count == 0:
        return
    yield builder.open_loop(trip_count)
    builder.close_loop()


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_a_generator_drives_a_loop(trips):
    builder = _core.Builder("generator")
    x = builder.argument("x", [5, 4, 6])
    z = builder.argument("z", [5, 4, 6])
    for i in counted(builder, trips):
        tile = builder.sbuf("tile", [4, 6])
        for j in counted(builder, 2):
            builder.dma_copy(tile[:, j * 3 : j * 3 + 3], x[i, :, j * 3 : j * 3 + 3])
        builder.dma_copy(z[i], tile)
    program = builder.finish()
    source = np.arange(120, dtype=np.float32).reshape(5, 4, 6)
    result = np.full_like(source, -1)
    program.run([source, result])
    expected = np.full_like(source, -1)
    expected[:trips] = source[:trips]
    np.testing.assert_array_equal(result, expected)


def test_a_loop_that_is_left_early_is_named_by_finish():
    builder = _core.Builder("early")
    builder.source_line("early.py:3")
    for _ in counted(builder, 4):
        break
    with pytest.raises(
        ValueError,
        match=r"^kernel 'early' ends inside a loop of 4 iterations opened at early.py:3; a counted "
        r"loop is left at the end of its body only\.$",
    ):
        builder.finish()


def test_open_blocks_close_innermost_first():
    builder = _core.Builder("order")
    with pytest.raises(ValueError, match=r"close_scope\(\) where nothing is open"):
        builder.close_scope()
    builder.open_scope()
    builder.open_loop_register("vector", builder.allocate_register(), 3)
    with pytest.raises(ValueError, match=r"close_scope\(\) inside a loop of 3 iterations"):
        builder.close_scope()
    builder.close_loop()
    builder.close_scope()
    builder.finish()


def test_cores_are_opened_like_loops():
    builder = _core.Builder("cores", "trn2")
    z = builder.argument("z", [2, 4, 6])
    for core in range(2):
        builder.open_core(core)
        tile = builder.sbuf("tile", [4, 6])
        builder.memset(tile, core + 1.0)
        builder.dma_copy(z[core], tile)
        builder.close_core()
    result = np.zeros((2, 4, 6), np.float32)
    builder.finish().run([result])
    assert (result[0] == 1).all() and (result[1] == 2).all()
    with pytest.raises(IndexError, match="core\\(2\\) does not exist"):
        _core.Builder("cores", "trn2").open_core(2)


def test_affine_indices_are_values():
    builder = _core.Builder("affine")
    i, j = builder.open_loop(5), builder.open_loop(3)
    assert i + j == j + i and hash(i + j) == hash(j + i)
    assert i != j and i != 0
    assert i - i == 0 and hash(i - i) == hash(0) and (i - i).is_constant
    assert {i * 2: "a"}[i + i] == "a"
    index = -i * 10 + 2 * j - 7
    assert index.coefficients == [-10, 2] and index.constant == -7
    assert repr(index) == "-10 * loop0 + 2 * loop1 + -7"
    assert builder.bounds(index) == (-47, -3)
    assert builder.bounds(4) == (4, 4)
    assert int(i * 0 + 3) == 3
    with pytest.raises(ValueError, match="depends on a loop variable"):
        int(i)
    builder.close_loop()
    with pytest.raises(IndexError, match="uses the variable of a loop that is closed"):
        builder.bounds(index)


def test_a_pattern_reads_the_storage_as_its_steps_say():
    builder = _core.Builder("pattern")
    x = builder.argument("x", [6, 4, 5])
    z = builder.argument("z", [4, 2, 3])
    tile = builder.sbuf("tile", [4, 30])
    builder.dma_copy(tile, x.pattern([[5, 4], [20, 6], [1, 5]]))
    i = builder.open_loop(2)
    window = tile[:, 3:4].pattern([[1, 4], [1, 1], [10, 3]], offset=i * 2 + 1)
    builder.dma_copy(z[:, i : i + 1], window)
    builder.close_loop()
    source = np.arange(120, dtype=np.float32).reshape(6, 4, 5)
    result = np.zeros((4, 2, 3), np.float32)
    builder.finish().run([source, result])
    rows = source.transpose(1, 0, 2).reshape(4, 30)
    expected = np.stack([rows[:, 1 + 2 * i :: 10] for i in range(2)], axis=1)
    np.testing.assert_array_equal(result, expected)


def test_a_view_says_its_pattern():
    builder = _core.Builder("fields")
    tile = builder.sbuf("tile", [64, 6, 10], "bfloat16")
    i = builder.open_loop(2)
    view = tile[32:48, 1 + i, 2:8:3]
    assert view.shape == [16, 2]
    assert view.strides == [1, 3]
    assert view.offset == i * 10 + 12
    assert view.partition == 32
    assert (view.storage_partitions, view.storage_elements) == (64, 60)
    again = tile.pattern(
        [[s, n] for s, n in zip(view.strides, view.shape, strict=True)], view.offset, view.partition
    )
    assert (again.shape, again.strides, again.offset) == (view.shape, view.strides, view.offset)
    assert tile.reinterpret("uint8").shape == [64, 6, 20]


def test_patterns_that_leave_the_storage_are_refused():
    tile = _core.Builder("bounds").sbuf("tile", [64, 60])
    tile.pattern([[1, 32], [1, 60]], partition=32)
    with pytest.raises(IndexError, match=r"reaches element 60, the tensor has 60 per partition"):
        tile.pattern([[1, 32], [1, 60]], offset=1)
    with pytest.raises(IndexError, match=r"on dimension 0: index range \[33, 64\]"):
        tile.pattern([[1, 32], [1, 60]], partition=33)
    with pytest.raises(ValueError, match="6 dimensions; an access pattern has 1 to 5"):
        tile.pattern([[1, 1]] * 6)
