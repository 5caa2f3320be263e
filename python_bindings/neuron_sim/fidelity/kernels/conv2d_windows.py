"""Convolution in tiles of several output rows: robertpare17/asst4-trainium, part2/conv2d.py."""

from __future__ import annotations

from dataclasses import dataclass

from neuron_sim import _core
from neuron_sim.fidelity import lowering
from neuron_sim.fidelity.kernels.convolution import MOVING, TILE, Convolution, channel_tile

MOST_OUT_TILES = 2
"""The source unrolls its two output-channel tiles by hand."""


@dataclass(frozen=True)
class WindowConvolution:
    """For each tile of rows: the windows of a tap are copied together and multiplied at once."""

    sizes: Convolution

    @property
    def rows(self) -> int:
        """Output rows of a tile: as many as fit a PSUM bank, if they divide the height, else 1."""
        sizes = self.sizes
        if sizes.out_height * sizes.out_width <= MOVING:
            return sizes.out_height
        rows = MOVING // sizes.out_width
        return rows if sizes.out_height % rows == 0 else 1

    @property
    def possible(self) -> bool:
        """Pools lie inside a tile (the source's fused pool) and there are at most two out tiles."""
        fused = self.sizes.pool in (1, 2) and self.rows % self.sizes.pool == 0
        return fused and self.sizes.out_tiles <= MOST_OUT_TILES

    def build(self) -> _core.Program:
        """The kernel in program order: arguments x, w, bias, out."""
        sizes = self.sizes
        builder = _core.Builder("fused_conv2d_maxpool", sizes.architecture)
        x, w, bias, out = sizes.arguments(builder)
        weights, columns = [], []
        identity = lowering.load_identity(builder, TILE, sizes.dtype)
        for m in range(sizes.out_tiles):
            weights.append(self._load_weights(builder, w[channel_tile(m)], m))
            column = builder.sbuf(f"bias{m}", [TILE, 1], sizes.dtype)
            builder.dma_copy(column, bias[channel_tile(m)])
            columns.append(lowering.scalar_operand(builder, column))

        def row_tile(b: _core.Affine, r: _core.Affine) -> None:
            width = self.rows * sizes.out_width
            sums = [builder.psum(f"sums{m}", [TILE, width]) for m in range(sizes.out_tiles)]
            for total in sums:
                builder.memset(total, 0.0)
            for k in range(sizes.in_tiles):
                self._multiply(builder, x[b], weights, identity, sums, k, r)
            for m in range(sizes.out_tiles):
                self._finish(builder, sums[m], columns[m], out[b, channel_tile(m)], r)

        builder.loop(
            sizes.batch,
            lambda b: builder.loop(sizes.out_height // self.rows, lambda r: row_tile(b, r)),
        )
        return builder.finish()

    def _load_weights(self, builder: _core.Builder, w: _core.View, m: int) -> _core.View:
        """[out channel, in channel, in tile, tap] of out tile m."""
        sizes = self.sizes
        taps = sizes.kernel * sizes.kernel
        loaded = builder.sbuf(f"weights{m}", [TILE, TILE, sizes.in_tiles, taps], sizes.dtype)
        for k in range(sizes.in_tiles):
            source = w[0:TILE, channel_tile(k)].merge(2)
            builder.dma_copy(loaded[0:TILE, 0:TILE, k], source)
        return loaded

    def _multiply(
        self,
        builder: _core.Builder,
        image: _core.View,
        weights: list[_core.View],
        identity: _core.View,
        sums: list[_core.View],
        k: int,
        r: _core.Affine,
    ) -> None:
        """Adds the products of in tile k: input rows one by one, windows copied per tap.

        The source multiplies with nl.matmul, which transposes its first operand on the PE for each
        product (docs/choices.md).
        """
        sizes, rows = self.sizes, self.rows
        strip_rows = rows + sizes.kernel - 1
        strip = builder.sbuf("strip", [TILE, strip_rows, sizes.width], sizes.dtype)
        builder.loop(
            strip_rows,
            lambda s: builder.dma_copy(strip[0:TILE, s], image[channel_tile(k), r * rows + s]),
        )

        def tap(i: _core.Affine, j: _core.Affine) -> None:
            width = sizes.out_width
            windows = builder.sbuf("windows", [TILE, rows * width], sizes.dtype)
            builder.loop(
                rows,
                lambda row: builder.tensor_copy(
                    windows[0:TILE, slice(row * width, row * width + width)],
                    strip[0:TILE, row + i, slice(j, j + width)],
                ),
            )
            for matrix, total in zip(weights, sums, strict=True):
                tap_weights = matrix[0:TILE, 0:TILE, k, i * sizes.kernel + j]
                turned = builder.sbuf("turned", [TILE, TILE], sizes.dtype)
                builder.tensor_copy(turned, lowering.transpose(builder, tap_weights, identity))
                builder.nc_matmul(total, turned, windows, accumulate=True)

        taps = sizes.kernel
        builder.loop(taps, lambda i: builder.loop(taps, lambda j: tap(i, j)))

    def _finish(
        self,
        builder: _core.Builder,
        sums: _core.View,
        bias: _core.View,
        out: _core.View,
        r: _core.Affine,
    ) -> None:
        """Copies the sums to SBUF; then row by row, or pool by pool, bias and store."""
        sizes = self.sizes
        result = builder.sbuf("result", list(sums.shape), sizes.dtype)
        builder.tensor_copy(result, sums)
        pools = self.rows // sizes.pool

        def pool(p: _core.Affine) -> None:
            row = self._biased_row(builder, result, bias, p * sizes.pool)
            if sizes.pool == 2:
                below = self._biased_row(builder, result, bias, p * sizes.pool + 1)
                row = self._maximum(builder, row, below)
            builder.dma_copy(out[0:TILE, r * pools + p], row)

        builder.loop(pools, pool)

    def _biased_row(
        self, builder: _core.Builder, result: _core.View, bias: _core.View, row: _core.Affine
    ) -> _core.View:
        width = self.sizes.out_width
        buffer = builder.sbuf("row", [TILE, width], self.sizes.dtype)
        builder.tensor_copy(buffer, result[0:TILE, slice(row * width, row * width + width)])
        biased = builder.sbuf("biased", [TILE, width], self.sizes.dtype)
        builder.tensor_scalar(biased, buffer, "add", bias)
        return biased

    def _maximum(self, builder: _core.Builder, upper: _core.View, lower: _core.View) -> _core.View:
        """The maximum of two rows, then of even and odd columns, which are gathered first."""
        width, dtype = self.sizes.out_width, self.sizes.dtype
        rows = builder.sbuf("rows", [TILE, width], dtype)
        builder.tensor_tensor(rows, upper, lower, "maximum")
        halves = []
        for start in range(2):
            half = builder.sbuf(f"half{start}", [TILE, width // 2], dtype)
            builder.tensor_copy(half, rows[0:TILE, start:width:2])
            halves.append(half)
        pooled = builder.sbuf("pooled", [TILE, width // 2], dtype)
        builder.tensor_tensor(pooled, halves[0], halves[1], "maximum")
        return pooled
