"""The matrix multiplication that AWS optimises step by step, the measured versions 2 and 5.

Source: aws-neuron-sdk, nki/guides/tutorials/kernel-optimization.rst (its older form: tutorial
"Matrix multiplication", tiled and fully_optimized). Written anew.
result[M, N] = lhsT[K, M].T @ rhs[K, N]. A block that does not fit in SBUF is loaded where it is
used: the compiler must do something like it, because the kernel as written has no address for it
(assumption; in the published sizes at fp32 it concerns lhsT of version 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

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

    def sum_tile(self) -> View:
        return self.b.psum("result_tile", [PARTITIONS, MOVING])

    def store_sum(self, sum_: View, m: Index, n: Index) -> None:
        """PSUM to SBUF to HBM."""
        place = self.result[block(m, PARTITIONS), block(n, MOVING)]
        store(self.b, place, copied(self.b, sum_, self.dtype))


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
            self.b.loop(parts, partial(part, n))

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
