"""The matrix multiplication that AWS optimises step by step, versions 1 to 5.

Source: aws-neuron-sdk, nki/guides/tutorials/kernel-optimization.rst (its older form: tutorial
"Matrix multiplication", tiled, hoist_load, block_free_dimension, fully_optimized). Written anew.
result[M, N] = lhsT[K, M].T @ rhs[K, N]. A block that does not fit in SBUF is loaded where it is
used: the compiler must do something like it, because the kernel as written has no address for it
(assumption; in the published sizes at fp32 it concerns rhs of version 4 and lhsT of version 5).
"""

from __future__ import annotations

from dataclasses import dataclass

from neuron_sim import _core
from neuron_sim.fidelity.language import (
    MOVING,
    PARTITIONS,
    Builder,
    Index,
    View,
    block,
    copied,
    load,
    product,
    store,
)

_USABLE = 176 * 1024
"""Bytes per partition that the compiler allocates on trn1 and trn2 (192 KiB less 16 reserved)."""
_ITEMSIZES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Blocks:
    """TILES_IN_BLOCK_M, _N, _K."""

    m: int = 16
    n: int = 2
    k: int = 8


class _Gemm:
    """Arguments and sizes in tiles."""

    def __init__(self, architecture: str, sizes: tuple[int, int, int], dtype: str) -> None:
        m, k, n = sizes
        self.b = Builder("matrix_multiply", architecture)
        self.dtype = dtype
        self.itemsize = _ITEMSIZES[dtype]
        self.lhs = self.b.argument("lhsT", [k, m], dtype)
        self.rhs = self.b.argument("rhs", [k, n], dtype)
        self.result = self.b.argument("result", [m, n], dtype)
        self.m, self.k, self.n = m // PARTITIONS, k // PARTITIONS, n // MOVING

    def lhs_tile(self, k: Index, m: Index) -> View:
        return self.lhs[block(k, PARTITIONS), block(m, PARTITIONS)]

    def rhs_tile(self, k: Index, n: Index) -> View:
        return self.rhs[block(k, PARTITIONS), block(n, MOVING)]

    def column(self, label: str, width: int) -> View:
        """K / 128 tiles [128, width], one per slab of K."""
        return self.b.sbuf(label, [PARTITIONS, width], self.dtype, ring=self.k)

    def load_lhs(self, m: Index) -> View:
        tiles = self.column("lhsT_tile", PARTITIONS)
        self.b.loop(self.k, lambda k: self.b.dma_copy(tiles.turn(k), self.lhs_tile(k, m)))
        return tiles

    def load_rhs(self, n: Index) -> View:
        tiles = self.column("rhs_tile", MOVING)
        self.b.loop(self.k, lambda k: self.b.dma_copy(tiles.turn(k), self.rhs_tile(k, n)))
        return tiles

    def sum_tile(self) -> View:
        return self.b.psum("result_tile", [PARTITIONS, MOVING])

    def store_sum(self, sum_: View, m: Index, n: Index) -> None:
        """PSUM to SBUF to HBM."""
        place = self.result[block(m, PARTITIONS), block(n, MOVING)]
        store(self.b, place, copied(self.b, sum_, self.dtype))


def single_tile(architecture: str, sizes: tuple[int, int, int], dtype: str) -> _core.Program:
    """Version 1: one product. M and K at most 128, N at most 512."""
    m, k, n = sizes
    b = Builder("matrix_multiply", architecture)
    lhs, rhs = b.argument("lhsT", [k, m], dtype), b.argument("rhs", [k, n], dtype)
    result = b.argument("result", [m, n], "float32")
    stationary, moving = load(b, lhs), load(b, rhs)
    sum_ = b.psum("result_tile", [m, n])
    b.nc_matmul(sum_, stationary, moving)
    store(b, result, copied(b, sum_))
    return b.finish()


def tiled(architecture: str, sizes: tuple[int, int, int], dtype: str) -> _core.Program:
    """Version 2: both operand tiles are loaded before every product."""
    g = _Gemm(architecture, sizes, dtype)

    def tile(m: Index, n: Index) -> None:
        sum_ = g.sum_tile()
        product(
            g.b, sum_, g.k, lambda k: (load(g.b, g.lhs_tile(k, m)), load(g.b, g.rhs_tile(k, n)))
        )
        g.store_sum(sum_, m, n)

    g.b.loop(g.m, lambda m: g.b.loop(g.n, lambda n: tile(m, n)))
    return g.b.finish()


def hoisted(architecture: str, sizes: tuple[int, int, int], dtype: str) -> _core.Program:
    """Version 3: a row of lhs is loaded per m, a column of rhs per n."""
    g = _Gemm(architecture, sizes, dtype)

    def tile(m: Index, n: Index, lhs: View) -> None:
        rhs, sum_ = g.load_rhs(n), g.sum_tile()
        product(g.b, sum_, g.k, lambda k: (lhs.turn(k), rhs.turn(k)))
        g.store_sum(sum_, m, n)

    def row(m: Index) -> None:
        lhs = g.load_lhs(m)
        g.b.loop(g.n, lambda n: tile(m, n, lhs))

    g.b.loop(g.m, row)
    return g.b.finish()


def blocked_free(
    architecture: str, sizes: tuple[int, int, int], dtype: str, m_tiles: int = 2, n_tiles: int = 2
) -> _core.Program:
    """Version 4: `m_tiles` rows of lhs and `n_tiles` columns of rhs are loaded at once."""
    g = _Gemm(architecture, sizes, dtype)
    lhs_bytes = m_tiles * g.k * PARTITIONS * g.itemsize
    rhs_bytes = n_tiles * g.k * MOVING * g.itemsize
    staging = MOVING * g.itemsize
    fits = lhs_bytes + rhs_bytes + staging <= _USABLE

    def tile(m: Index, n: Index, lhs: View, rhs: View | None) -> None:
        def operands(k: Index) -> tuple[View, View]:
            moving = rhs.turn(k) if rhs is not None else load(g.b, g.rhs_tile(k, n))
            return lhs.turn(k), moving

        sum_ = g.sum_tile()
        product(g.b, sum_, g.k, operands)
        g.store_sum(sum_, m, n)

    def columns(m: Index, n: Index, rows: list[View]) -> None:
        tiles = [g.load_rhs(n * n_tiles + i) if fits else None for i in range(n_tiles)]
        for i, lhs in enumerate(rows):
            for j, rhs in enumerate(tiles):
                g.b.scope(
                    lambda i=i, j=j, lhs=lhs, rhs=rhs: tile(
                        m * m_tiles + i, n * n_tiles + j, lhs, rhs
                    )
                )

    def row_block(m: Index) -> None:
        rows = [g.load_lhs(m * m_tiles + i) for i in range(m_tiles)]
        g.b.loop(g.n // n_tiles, lambda n: columns(m, n, rows))

    g.b.loop(g.m // m_tiles, row_block)
    return g.b.finish()


class _Blocked(_Gemm):
    """Version 5."""

    def __init__(
        self, architecture: str, sizes: tuple[int, int, int], dtype: str, blocks: Blocks
    ) -> None:
        super().__init__(architecture, sizes, dtype)
        self.blocks = blocks
        self.part = blocks.m
        others = self.m * blocks.n * MOVING + blocks.k * blocks.n * MOVING + blocks.n * MOVING
        while self.part > 1 and self.part % 2 == 0:
            if (others + blocks.k * self.part * PARTITIONS) * self.itemsize <= _USABLE:
                break
            self.part //= 2  # load parts of the block of lhsT instead

    def load_part(self, k: Index, m: Index) -> View:
        """Tiles [128, part * 128] of lhsT, one per slab of the block of K."""
        width = self.part * PARTITIONS
        tiles = self.b.sbuf("lhsT_tile", [PARTITIONS, width], self.dtype, ring=self.blocks.k)

        def slab(i: Index) -> None:
            rows = block(k * self.blocks.k + i, PARTITIONS)
            self.b.dma_copy(tiles.turn(i), self.lhs[rows, block(m, width)])

        self.b.loop(self.blocks.k, slab)
        return tiles

    def accumulate(
        self, results: View, m: Index, n: int, lhs: View, column: Index, rhs: View
    ) -> None:
        """results[m, n] += the product over the block of K; `column` of the part of lhsT."""
        sum_ = self.sum_tile()
        columns, width = block(column, PARTITIONS), block(n, MOVING)
        product(
            self.b,
            sum_,
            self.blocks.k,
            lambda i: (lhs.turn(i)[:, columns], rhs.turn(i)[:, width]),
        )
        target = results.turn(m * self.blocks.n + n)
        self.b.tensor_tensor(target, target, sum_, "add")

    def multiply(self, results: View, k: Index, m: Index, rhs: View) -> None:
        """Block m of rows: all tiles of the block of columns."""
        parts = self.blocks.m // self.part
        whole = self.load_part(k, m) if parts == 1 else None

        def part(n: int, p: Index) -> None:
            lhs = whole if whole is not None else self.load_part(k, m * parts + p)
            first = (m * parts + p) * self.part
            self.b.loop(self.part, lambda i: self.accumulate(results, first + i, n, lhs, i, rhs))

        for n in range(self.blocks.n):
            self.b.loop(parts, lambda p, n=n: part(n, p))

    def columns(self, n: Index) -> None:
        """One block of columns of the result."""
        b, width = self.b, self.blocks.n * MOVING
        tiles = self.m * self.blocks.n
        results = b.sbuf("result_tmp", [PARTITIONS, MOVING], self.dtype, ring=tiles)
        b.loop(tiles, lambda i: b.memset(results.turn(i), 0.0))

        def depth(k: Index) -> None:
            rhs = b.sbuf("rhs_tile", [PARTITIONS, width], self.dtype, ring=self.blocks.k)

            def slab(i: Index) -> None:
                rows = block(k * self.blocks.k + i, PARTITIONS)
                b.dma_copy(rhs.turn(i), self.rhs[rows, block(n, width)])

            b.loop(self.blocks.k, slab)
            b.loop(self.m // self.blocks.m, lambda m: self.multiply(results, k, m, rhs))

        b.loop(self.k // self.blocks.k, depth)

        def packed(m: Index) -> None:
            row = b.sbuf("result_packed", [PARTITIONS, width], self.dtype)
            for i in range(self.blocks.n):
                b.tensor_copy(row[:, block(i, MOVING)], results.turn(m * self.blocks.n + i))
            store(b, self.result[block(m, PARTITIONS), block(n, width)], row)

        b.loop(self.m, packed)


def blocked(
    architecture: str, sizes: tuple[int, int, int], dtype: str, blocks: Blocks
) -> _core.Program:
    """Version 5: all three dimensions in blocks, sums over the blocks of K in SBUF by Vector."""
    g = _Blocked(architecture, sizes, dtype, blocks)
    g.b.loop(g.n // blocks.n, g.columns)
    return g.b.finish()
