"""The 2048 x 2048 x 2048 matrix multiplications of nki-autotune, for any size in whole blocks.

Source: awslabs/nki-autotune, kernel_library/matmul (kernels tuned by hand), kernel_transforms.py
and examples/tune_matmul_lhsT_rhs.py (the ladder). Written anew. The project's notes on its
profiles put the copies out of PSUM on Vector (and the memsets of the accumulators on GpSimd, which
nki.isa does not allow: here they are on Vector).
"""

from __future__ import annotations

from functools import partial

from neuron_sim import _core
from neuron_sim.fidelity.language import MOVING, PARTITIONS, Builder, Index, View, block, store


class _Gemm:
    def __init__(
        self, architecture: str, sizes: tuple[int, int, int], dtype: str, transposed: bool
    ) -> None:
        m, k, n = sizes
        self.b = Builder("matmul", architecture)
        self.dtype = dtype
        label = "lhs_T" if transposed else "lhs"
        self.lhs = self.b.argument(label, [k, m] if transposed else [m, k], dtype)
        self.rhs = self.b.argument("rhs", [k, n], dtype)
        self.out = self.b.argument("hbm_out", [m, n], dtype)
        self.m, self.k, self.n = m // PARTITIONS, k // PARTITIONS, n // MOVING

    def tile(self, label: str, width: int) -> View:
        return self.b.sbuf(label, [PARTITIONS, width], self.dtype)

    def zero(self, tile: View) -> None:
        self.b.memset(tile, 0.0)

    def multiply_block(self, out: list[View], lhs: list[View], rhs: list[View]) -> None:
        """out[m] += the sum over k of lhs[k][:, m].T @ rhs[k], through PSUM and a tile in SBUF."""
        b = self.b

        def tile(m: int, n: int) -> None:
            sum_ = b.psum("psum_tile", [PARTITIONS, MOVING])
            part = self.tile("acc_tile", MOVING)
            self.zero(sum_)
            for left, right in zip(lhs, rhs, strict=True):
                stationary, moving = left[:, block(m, PARTITIONS)], right[:, block(n, MOVING)]
                b.nc_matmul(sum_, stationary, moving, accumulate=True)
            b.tensor_copy(part, sum_)
            target = out[m][:, block(n, MOVING)]
            b.tensor_tensor(target, target, part, "add")

        for m in range(len(out)):
            for n in range(rhs[0].shape[1] // MOVING):
                b.scope(partial(tile, m, n))


def ladder(architecture: str, sizes: tuple[int, int, int], dtype: str) -> _core.Program:
    """Operands loaded whole, one row of 128 x N accumulators for all m.

    It is declared outside of the loop that rewrites it and stays in place, so that each m waits for
    the one before (NKI programming model: only what is declared inside a loop is multi-buffered).
    """
    g = _Gemm(architecture, sizes, dtype, transposed=True)
    b = g.b
    m_size, k_size, n_size = sizes
    lhs = b.sbuf("sbuf_lhs_T", [PARTITIONS, g.k, m_size], dtype)
    rhs = b.sbuf("sbuf_rhs", [PARTITIONS, g.k, n_size], dtype)
    product = b.sbuf("sbuf_prod", [PARTITIONS, g.m, n_size], dtype)
    b.loop(g.k, lambda k: b.dma_copy(lhs[:, block(k, 1), :], _rows(g.lhs, k)))
    b.loop(g.k, lambda k: b.dma_copy(rhs[:, block(k, 1), :], _rows(g.rhs, k)))
    sums = b.place("psum", "psum_prod", [PARTITIONS, n_size], "float32", 0, ring=1)

    def row(m: Index) -> None:
        sum_ = sums.turn(m)
        g.zero(sum_)

        def tile(n: Index) -> None:
            def slab(k: Index) -> None:
                stationary = lhs[:, block(k, 1), block(m, PARTITIONS)].merge(1)
                moving = rhs[:, block(k, 1), block(n, MOVING)].merge(1)
                b.nc_matmul(sum_[:, block(n, MOVING)], stationary, moving, accumulate=True)

            b.loop(g.k, slab)

        b.loop(g.n, tile)
        b.tensor_copy(product[:, block(m, 1), :].merge(1), sum_, engine="vector")

    b.loop(g.m, row)
    b.loop(g.m, lambda m: store(b, _rows(g.out, m), product[:, block(m, 1), :]))
    return b.finish()


def _rows(tensor: View, index: Index) -> View:
    """128 rows as [128, 1, columns]."""
    return tensor[block(index, PARTITIONS), :].expand(1)


def hand_lhs(architecture: str, sizes: tuple[int, int, int], dtype: str) -> _core.Program:
    """lhs @ rhs: M outer, N, K inner; lhs transposed by the DMA, blocks of 8 x 1 x 8 tiles."""
    g = _Gemm(architecture, sizes, dtype, transposed=False)
    b, size = g.b, 8 * PARTITIONS
    k_blocks = range(g.k // 8)
    turns: dict[tuple[int, int], list[View]] = {}
    for m in range(g.m // 8):
        for k in k_blocks:  # lhs_T rotates over 4 x 4 buffers that live as long as the kernel
            key = (k % 4, m % 4)
            turns.setdefault(key, [g.tile("sbuf_lhs_T", size) for _ in range(8)])

    def columns(m: int, n: int, out: list[View]) -> None:
        buffers = [[g.tile("sbuf_rhs", MOVING) for _ in range(8)] for _ in k_blocks[:8]]
        for k in k_blocks:
            lhs, rhs = turns[(k % 4, m % 4)], buffers[k % 8]
            for i, tile in enumerate(lhs):
                b.dma_transpose(tile, g.lhs[block(m, size), block(k * 8 + i, PARTITIONS)])
            for i, tile in enumerate(rhs):
                b.dma_copy(tile, g.rhs[block(k * 8 + i, PARTITIONS), block(n, MOVING)])
            g.multiply_block([row[:, block(n, MOVING)] for row in out], lhs, rhs)
        for i, row in enumerate(out):
            rows = block(m * 8 + i, PARTITIONS)
            store(b, g.out[rows, block(n, MOVING)], row[:, block(n, MOVING)])

    def rows(m: int) -> None:
        out = [g.tile("sbuf_output", sizes[2]) for _ in range(8)]
        for row in out:
            g.zero(row)
        for n in range(g.n):
            b.scope(partial(columns, m, n, out))

    for m in range(g.m // 8):
        b.scope(partial(rows, m))
    return b.finish()
