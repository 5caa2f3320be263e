"""The 2048 x 2048 x 2048 matrix multiplications of nki-autotune, for any size in whole blocks.

Source: awslabs/nki-autotune, kernel_library/matmul (kernels tuned by hand), kernel_transforms.py
and examples/tune_matmul_lhsT_rhs.py (the ladder). Written anew. The project's notes on its
profiles put the copies out of PSUM on Vector (and the memsets of the accumulators on GpSimd, which
nki.isa does not allow: here they are on Vector).
"""

from __future__ import annotations

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

    def fixed(self, memory: str, label: str, width: int, turns: int, first: int = 0) -> View:
        """Tiles declared outside of the loops that rewrite them.

        They stay in place, so that a turn waits for the previous user of the tile (NKI
        programming model: only what is declared inside a loop is multi-buffered). `first`: byte.
        """
        dtype = "float32" if memory == "psum" else self.dtype
        shape = [PARTITIONS, width]
        return self.b.place(memory, label, shape, dtype, first, ring=turns)

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
                b.scope(lambda m=m, n=n: tile(m, n))


def ladder(
    architecture: str, sizes: tuple[int, int, int], dtype: str, accumulators: int
) -> _core.Program:
    """Operands loaded whole, one row of 128 x N accumulators per m, in `accumulators` turns."""
    g = _Gemm(architecture, sizes, dtype, transposed=True)
    b = g.b
    m_size, k_size, n_size = sizes
    lhs = b.sbuf("sbuf_lhs_T", [PARTITIONS, g.k, m_size], dtype)
    rhs = b.sbuf("sbuf_rhs", [PARTITIONS, g.k, n_size], dtype)
    product = b.sbuf("sbuf_prod", [PARTITIONS, g.m, n_size], dtype)
    b.loop(g.k, lambda k: b.dma_copy(lhs[:, block(k, 1), :], _rows(g.lhs, k)))
    b.loop(g.k, lambda k: b.dma_copy(rhs[:, block(k, 1), :], _rows(g.rhs, k)))
    sums = g.fixed("psum", "psum_prod", n_size, accumulators)

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


def sunk(architecture: str, sizes: tuple[int, int, int], dtype: str, buffers: int) -> _core.Program:
    """Rung 14 of the ladder: loads in the innermost loop into `buffers` tiles of each operand."""
    g = _Gemm(architecture, sizes, dtype, transposed=True)
    b = g.b
    wide = 4 * MOVING * buffers
    lhs = g.fixed("sbuf", "sbuf_lhs_T", PARTITIONS, buffers)
    rhs = g.fixed("sbuf", "sbuf_rhs", MOVING, buffers, wide)
    products = g.fixed("sbuf", "sbuf_prod", MOVING, buffers, 2 * wide)
    sums = g.fixed("psum", "psum_acc", MOVING, buffers)

    def tile(m: Index, n: Index) -> None:
        turn = m * g.n + n
        sum_, product = sums.turn(turn), products.turn(turn)
        rows, columns = block(m, PARTITIONS), block(n, MOVING)
        g.zero(sum_)

        def slab(k: Index) -> None:
            stationary, moving = lhs.turn(k), rhs.turn(k)
            b.dma_copy(stationary, g.lhs[block(k, PARTITIONS), rows])
            b.dma_copy(moving, g.rhs[block(k, PARTITIONS), columns])
            b.nc_matmul(sum_, stationary, moving, accumulate=True)

        b.loop(g.k, slab)
        b.tensor_copy(product, sum_, engine="vector")
        store(b, g.out[rows, columns], product)

    b.loop(g.m, lambda m: b.loop(g.n, lambda n: tile(m, n)))
    return b.finish()


def hand_lhs(architecture: str, sizes: tuple[int, int, int], dtype: str) -> _core.Program:
    """lhs @ rhs: M outer, N, K inner; lhs transposed by the DMA, blocks of 8 x 1 x 8 tiles."""
    g = _Gemm(architecture, sizes, dtype, transposed=False)
    b, size = g.b, 8 * PARTITIONS
    k_blocks = range(g.k // 8)
    turns = {}
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
            b.scope(lambda n=n: columns(m, n, out))

    for m in range(g.m // 8):
        b.scope(lambda m=m: rows(m))
    return b.finish()


def hand_lhs_transposed(
    architecture: str, sizes: tuple[int, int, int], dtype: str
) -> _core.Program:
    """lhs_T.T @ rhs: N outer, K, M inner; blocks of 4 x 1 x 8 tiles."""
    g = _Gemm(architecture, sizes, dtype, transposed=True)
    b = g.b
    outputs = [[g.tile("sbuf_output", MOVING) for _ in range(g.m)] for _ in range(min(4, g.n))]

    def columns(n: int) -> None:
        turns = range(min(2, g.k // 8))
        rhs = [[g.tile("sbuf_rhs", MOVING) for _ in range(8)] for _ in turns]
        lhs = {
            (k, m): [g.tile("sbuf_lhs_T", MOVING) for _ in range(8)]
            for k in turns
            for m in range(min(4, g.m // 4))
        }
        out = outputs[n % 4]
        for row in out:
            g.zero(row)
        for k in range(g.k // 8):
            for i, tile in enumerate(rhs[k % 2]):
                b.dma_copy(tile, g.rhs[block(k * 8 + i, PARTITIONS), block(n, MOVING)])
            for m in range(g.m // 4):
                for i, tile in enumerate(lhs[(k % 2, m % 4)]):
                    b.dma_copy(tile, g.lhs[block(k * 8 + i, PARTITIONS), block(m, MOVING)])
                g.multiply_block(out[m * 4 : m * 4 + 4], lhs[(k % 2, m % 4)], rhs[k % 2])
        for i, row in enumerate(out):
            store(b, g.out[block(i, PARTITIONS), block(n, MOVING)], row)

    for n in range(g.n):
        b.scope(lambda n=n: columns(n))
    return b.finish()
