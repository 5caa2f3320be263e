"""Builder with automatic placement: tiles get their addresses from their lifetimes."""

import random

import numpy as np
import pytest
from neuron_sim import _core


class Kernel:
    """Random nested loops with tiles in every block; the same seed gives the same kernel."""

    rows, partitions, width = 40, 2, 20_000

    def __init__(self, seed: int, placement: str, scale: int):
        self.random = random.Random(seed)
        self.scale = scale
        self.builder = _core.Builder("random", "trn2", placement)
        shape = [self.rows, self.partitions, self.width]
        self.input = self.builder.argument("input", shape)
        self.output = self.builder.argument("output", shape)
        self.tiles, self.loops = [], []
        self.block(2)
        self.program = self.builder.finish()

    def row(self):
        index = self.random.randint(0, 15)
        for loop in self.loops:
            index = loop * self.random.randint(0, 5) + index
        return index

    def allocate(self):
        width = self.random.randint(1, 64)
        if self.random.random() < 0.2:
            tile = self.builder.psum("sum", [self.partitions, width])
        else:  # the same elements of a tile that takes `scale` times the space
            tile = self.builder.sbuf("tile", [self.partitions, width * self.scale])[:, :width]
        self.builder.memset(tile, self.random.randint(-3, 3))
        self.tiles.append(tile)

    def statement(self):
        dst, left, right = self.random.choices(self.tiles, k=3)
        width = min(view.shape[1] for view in (dst, left, right))
        dst, left, right = dst[:, :width], left[:, :width], right[:, :width]
        kind = self.random.randint(0, 3)
        if kind == 0 and dst.memory == "sbuf":
            self.builder.dma_copy(dst, self.input[self.row(), :, :width])
        elif kind == 1 and left.memory == "sbuf":
            self.builder.dma_copy(self.output[self.row(), :, :width], left)
        elif kind == 2 and "sbuf" in (left.memory, right.memory):
            self.builder.tensor_tensor(dst, left, right, "subtract", engine="vector")
        else:
            self.builder.tensor_copy(dst, left)

    def block(self, depth: int):
        outer = len(self.tiles)
        for _ in range(self.random.randint(1, 3)):
            self.allocate()
        for _ in range(self.random.randint(3, 7)):
            if depth == 0 or self.random.random() < 0.6:
                self.statement()
                continue
            self.loops.append(self.builder.open_loop(self.random.randint(1, 3)))
            self.block(depth - 1)
            self.loops.pop()
            self.builder.close_loop()
        del self.tiles[outer:]

    def run(self, program) -> np.ndarray:
        source = np.random.default_rng(3).integers(-9, 9, [self.rows, self.partitions, self.width])
        result = np.zeros(source.shape, np.float32)
        program.run([source.astype(np.float32), result])
        return result[:, :, :64].copy()


@pytest.mark.parametrize("seed", range(12))
def test_tiles_that_share_bytes_compute_what_distinct_tiles_do(seed):
    """Tiles of up to 180 KiB must share bytes, those of the plain kernel all fit side by side."""
    distinct = Kernel(seed, "automatic", 1)
    expected = distinct.run(distinct.program)
    compiled = 0
    for scale in (64, 128, 256, 700):
        try:
            shared = Kernel(seed, "automatic", scale)
        except MemoryError:
            continue
        np.testing.assert_array_equal(shared.run(shared.program), expected)
        settings = max(_core.published_stacks().items())[1]["settings"]
        program = _core.compile_program(shared.program, settings)
        np.testing.assert_array_equal(shared.run(program), expected)
        compiled += 1
    assert compiled > 0


def pieces(count: int, placement: str = "automatic"):
    """`count` tiles of 120 KB, one after the other."""
    builder = _core.Builder("pieces", "trn2", placement)
    x = builder.argument("x", [count, 4, 30_000])
    z = builder.argument("z", [count, 4, 30_000])
    for i in range(count):
        builder.source_line(f"pieces.py:{i}")
        tile = builder.sbuf(f"tile{i}", [4, 30_000])
        builder.dma_copy(tile, x[i])
        builder.dma_copy(z[i], tile)
    return builder.finish()


def test_more_tiles_than_sbuf_has_bytes():
    program = pieces(5)
    source = np.random.default_rng(0).standard_normal((5, 4, 30_000), dtype=np.float32)
    result = np.zeros_like(source)
    program.run([source, result])
    np.testing.assert_array_equal(result, source)
    with pytest.raises(MemoryError, match="tile 'tile1' needs 120000 bytes"):
        pieces(5, "scoped")


def test_the_next_load_waits_for_the_store_of_the_tile_it_replaces():
    assert 1 in pieces(2).dependencies()[2]


def test_a_capacity_error_lists_all_tiles_that_live_at_the_peak():
    builder = _core.Builder("full", "trn2", "automatic")
    builder.source_line("full.py:3")
    first = builder.sbuf("first", [128, 30_000])
    builder.memset(first, 0)
    builder.source_line("full.py:5")
    second = builder.sbuf("second", [128, 30_000], "bfloat16", ring=2)
    builder.memset(second, 0)
    builder.source_line("full.py:8")
    builder.tensor_tensor(first, first, second, "add")
    with pytest.raises(MemoryError) as caught:
        builder.finish()
    assert str(caught.value) == (
        "out of memory in sbuf: the tiles of kernel 'full' that are live at 'memset' (full.py:5) "
        "need 240064 bytes per partition, trn2 has 212984.\n"
        "  tile    shape         dtype      bytes  count     sum  lines  made at\n"
        "  second  [128, 30000]  bfloat16   60032      2  120064  5-8    full.py:5\n"
        "  first   [128, 30000]  float32   120000      1  120000  3-8    full.py:3\n"
        "  sum: 240064 of 212984 bytes per partition\n"
        "  at full.py:5"
    )


def test_a_tile_may_take_the_last_bytes_of_sbuf():
    for columns, fits in ((53_246, True), (53_247, False)):
        builder = _core.Builder("last", "trn2", "automatic")
        for _ in range(2):
            try:
                tile = builder.sbuf("tile", [1, columns])
            except MemoryError:
                assert not fits
                continue
            assert fits
            builder.memset(tile, 0)
        builder.finish()


def test_bytes_of_another_tile_are_no_definition():
    """The second tile takes the bytes of the first, but nothing wrote the second."""
    builder = _core.Builder("undefined", "trn2", "automatic")
    out = builder.argument("out", [4, 30_000])
    first, second = (builder.sbuf(name, [4, 30_000]) for name in ("first", "second"))
    builder.memset(first, 0)
    builder.dma_copy(out, first)
    builder.source_line("undefined.py:9")
    builder.dma_copy(out, second)
    (found,) = builder.finish().run_checked([np.zeros((4, 30_000), np.float32)])["findings"]
    keys = ("rule", "instruction", "operand", "tile", "source_line")
    assert [found[key] for key in keys] == [
        "uninitialised-read", "dma_copy", "src", "second", "undefined.py:9",
    ]  # fmt: skip


def test_placements_have_names():
    with pytest.raises(ValueError, match="placement 'best' is unknown; allowed: scoped, automatic"):
        _core.Builder("kernel", "trn2", "best")
