"""Fused convolution and pooling of the CS149 assignment, part 2: two published solutions.

trn2: xaviergonzalez/asst4-trainium2 (row by row, every row of the input loaded for each filter
row). trn1: robertpare17/asst4-trainium (tiles of several rows, windows copied together), in
conv2d_windows.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuron_sim import _core
from neuron_sim.fidelity import lowering
from neuron_sim.fidelity.case import Case, Launch, total
from neuron_sim.fidelity.kernels.conv2d_windows import WindowConvolution
from neuron_sim.fidelity.kernels.convolution import (
    TILE,
    Convolution,
    channel_tile,
    read_convolution,
)
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.stacks import published_stack, says_static


@dataclass(frozen=True)
class RowConvolution:
    """One row of the output at a time."""

    sizes: Convolution

    def build(self) -> _core.Program:
        """The kernel in program order: arguments x, w, bias, out."""
        sizes = self.sizes
        builder = _core.Builder("fused_conv2d_maxpool", sizes.architecture)
        x, w, bias, out = sizes.arguments(builder)
        weights = self._load_weights(builder, w)
        # Declared outside the loops in the source: one buffer each.
        row = builder.sbuf("x_row", [TILE, sizes.width], sizes.dtype)
        window = builder.sbuf("window", [TILE, sizes.pool, sizes.out_width], sizes.dtype)

        def pooled_row(b: _core.Affine, m: _core.Affine, h: _core.Affine) -> None:
            def row_of_pool(p: _core.Affine) -> None:
                sums = builder.psum("sums", [TILE, sizes.out_width])
                self._convolve(builder, x[b], weights, row, sums, m, h * sizes.pool + p)
                builder.tensor_copy(window[0:TILE, p], sums)

            builder.loop(sizes.pool, row_of_pool)
            self._finish_row(builder, window, bias[channel_tile(m)], out[b, channel_tile(m), h])

        builder.loop(
            sizes.batch,
            lambda b: builder.loop(
                sizes.out_tiles,
                lambda m: builder.loop(
                    sizes.out_height // sizes.pool, lambda h: pooled_row(b, m, h)
                ),
            ),
        )
        return builder.finish()

    def _load_weights(self, builder: _core.Builder, w: _core.View) -> _core.View:
        """[in channel, out channel, out and in tile, tap]: each tap's matrix transposed in place.

        A tap's matrix is strided in SBUF: its columns are out tiles * in tiles * taps apart.
        """
        sizes = self.sizes
        taps = [sizes.out_tiles * sizes.in_tiles, sizes.kernel * sizes.kernel]
        weights = builder.sbuf("weights", [TILE, TILE, *taps], sizes.dtype)
        identity = lowering.load_identity(builder, TILE, sizes.dtype)

        def tile(m: _core.Affine, k: _core.Affine) -> None:
            tiles = weights[0:TILE, 0:TILE, m * sizes.in_tiles + k]
            builder.dma_copy(tiles, w[channel_tile(m), channel_tile(k)])

            def tap(i: _core.Affine, j: _core.Affine) -> None:
                matrix = tiles[0:TILE, 0:TILE, i * sizes.kernel + j]
                turned = lowering.transpose(builder, matrix, identity)
                copy = builder.sbuf("turned", [TILE, TILE], sizes.dtype)
                builder.tensor_copy(copy, turned)
                builder.tensor_copy(matrix, copy)

            builder.loop(sizes.kernel, lambda i: builder.loop(sizes.kernel, lambda j: tap(i, j)))

        builder.loop(sizes.out_tiles, lambda m: builder.loop(sizes.in_tiles, lambda k: tile(m, k)))
        return weights

    def _convolve(
        self,
        builder: _core.Builder,
        image: _core.View,
        weights: _core.View,
        row: _core.View,
        sums: _core.View,
        m: _core.Affine,
        h: _core.Affine,
    ) -> None:
        """sums = output row h of channel tile m: a load per input row, a product per tap.

        Accumulating loops are unrolled here: their first product overwrites.
        """
        sizes = self.sizes
        for k in range(sizes.in_tiles):
            tiles = weights[0:TILE, 0:TILE, m * sizes.in_tiles + k]
            for i in range(sizes.kernel):
                builder.dma_copy(row, image[channel_tile(k), h + i])
                for j in range(sizes.kernel):
                    shifted = row[0:TILE, j : j + sizes.out_width]
                    matrix = tiles[0:TILE, 0:TILE, i * sizes.kernel + j]
                    builder.nc_matmul(sums, matrix, shifted)

    def _finish_row(
        self, builder: _core.Builder, window: _core.View, bias: _core.View, out: _core.View
    ) -> None:
        """out = maximum over the pool of `window` + bias."""
        sizes = self.sizes
        columns = sizes.out_width // sizes.pool
        pools = window.split(2, columns, sizes.pool).permute([0, 2, 1, 3])
        maximum = builder.sbuf("maximum", [TILE, columns], sizes.dtype)
        builder.tensor_reduce(maximum, pools, "maximum", axes=2)
        column = builder.sbuf("bias", [TILE, 1], sizes.dtype)
        builder.dma_copy(column, bias)
        result = builder.sbuf("result", [TILE, columns], sizes.dtype)
        builder.tensor_tensor(result, maximum, column.broadcast(1, columns), "add")
        builder.dma_copy(out, result)


def match(measurement: Measurement) -> Case | None:
    """The solution that the architecture's course entries come from, with sizes and pool."""
    if measurement.family != "conv2d":
        return None
    sizes = read_convolution(measurement)
    if sizes is None:
        return None
    profiled = "profile" in measurement.metric.lower()
    reading = total(measurement.time)
    if sizes.architecture == "trn1":
        kernel = WindowConvolution(sizes)
        if "window" not in measurement.text or not kernel.possible:
            return None
        return Case(measurement, (Launch(kernel.build, published_stack(measurement)),), reading)
    if "input row" not in measurement.text:
        return None
    stack = published_stack(measurement, direct=True, static=says_static(measurement) or profiled)
    return Case(measurement, (Launch(RowConvolution(sizes).build, stack),), reading)
