"""Depthwise convolution along one dimension: measured steps of an autocomp optimisation trace.

Source: ucb-bar/autocomp examples/trn-advanced/4_conv1d_trace.py, the first of seven candidates (0)
and the last (6). Per output element: the product of a window with the filter, and its sum.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from neuron_sim import _core
from neuron_sim.fidelity import wording
from neuron_sim.fidelity.case import Case, Launch, total
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.stacks import published_stack

PARTITIONS = 128
BLOCK = 64
"""Outputs of a block of step 6 (OUT_TILE of the source)."""

STEPS = (0, 6)

Body = Callable[["_core.Affine"], None]


@dataclass(frozen=True)
class DepthwiseConvolution:
    """out[n, c, w] = sum over f of image[n, c, w + f - padding] * filter[c, f]."""

    architecture: str
    step: int
    batch: int
    channels: int
    width: int
    taps: int
    padding: int
    dtype: str

    @property
    def padded(self) -> int:
        """Columns of an image with its padding."""
        return self.width + 2 * self.padding

    @property
    def out_width(self) -> int:
        """Columns of the result."""
        return self.padded - self.taps + 1

    @property
    def partitions(self) -> int:
        """Channels of a tile."""
        return min(self.channels, PARTITIONS)

    def build(self) -> _core.Program:
        """The kernel in program order: arguments image, filter [channels, taps], out.

        Step 0 keeps all images and results in SBUF in the source. Where that is more than the
        SBUF, the compiler can only have fused its three loop nests: tiles are then loaded,
        computed and stored one by one, as in step 6.
        """
        builder = _core.Builder(f"conv1d_step{self.step}", self.architecture)
        shape = [self.batch, self.channels, self.width]
        image = builder.argument("image", shape, self.dtype)
        filters = builder.argument("filter", [self.channels, self.taps], self.dtype)
        out = builder.argument("out", [*shape[:2], self.out_width], self.dtype)
        tiles = self.channels // self.partitions
        if self.step == 6:
            builder.loop(tiles, lambda c: self._by_channels(builder, image, filters, out, c))
        else:
            builder.loop(
                self.batch,
                lambda n: builder.loop(
                    tiles, lambda c: self._by_images(builder, image[n], filters, out[n], c)
                ),
            )
        return builder.finish()

    def _channels(self, c: _core.Affine) -> slice:
        return slice(c * self.partitions, c * self.partitions + self.partitions)

    def _zeros(self, builder: _core.Builder, label: str, columns: int) -> _core.View:
        tile = builder.sbuf(label, [self.partitions, columns], self.dtype)
        builder.memset(tile, 0.0)
        return tile

    def _load_filter(
        self, builder: _core.Builder, filters: _core.View, c: _core.Affine
    ) -> _core.View:
        tile = self._zeros(builder, "filter", self.taps)
        builder.dma_copy(tile, filters[self._channels(c)])
        return tile

    def _load_image(self, builder: _core.Builder, image: _core.View, c: _core.Affine) -> _core.View:
        tile = self._zeros(builder, "image", self.padded)
        inner = tile[0 : self.partitions, self.padding : self.padding + self.width]
        builder.dma_copy(inner, image[self._channels(c)])
        return tile

    def _by_images(
        self,
        builder: _core.Builder,
        image: _core.View,
        filters: _core.View,
        out: _core.View,
        c: _core.Affine,
    ) -> None:
        """Step 0: outer loop over images, inner loop over channel tiles."""
        image_tile = self._load_image(builder, image, c)
        filter_tile = self._load_filter(builder, filters, c)
        result = self._zeros(builder, "result", self.out_width)
        builder.loop(self.out_width, self._output(builder, image_tile, filter_tile, result, 0))
        builder.dma_copy(out[self._channels(c)], result)

    def _by_channels(
        self,
        builder: _core.Builder,
        image: _core.View,
        filters: _core.View,
        out: _core.View,
        c: _core.Affine,
    ) -> None:
        """Step 6: inner loop over images, filter copied to PSUM once per channel tile."""
        loaded = self._load_filter(builder, filters, c)
        # fp32 in PSUM, like everything that Vector computes.
        filter_tile = builder.psum("filter_psum", [self.partitions, self.taps])
        builder.tensor_copy(filter_tile, loaded, engine="vector")

        def one_image(n: _core.Affine) -> None:
            image_tile = self._load_image(builder, image[n], c)
            result = self._zeros(builder, "result", self.out_width)
            self._outputs(builder, image_tile, filter_tile, result)
            builder.dma_copy(out[n, self._channels(c)], result)

        builder.loop(self.batch, one_image)

    def _outputs(
        self, builder: _core.Builder, image: _core.View, filters: _core.View, result: _core.View
    ) -> None:
        full = self.out_width // BLOCK
        builder.loop(
            full,
            lambda b: builder.loop(BLOCK, self._output(builder, image, filters, result, b * BLOCK)),
        )
        rest = self.out_width % BLOCK
        if rest:
            builder.loop(rest, self._output(builder, image, filters, result, full * BLOCK))

    def _output(
        self,
        builder: _core.Builder,
        image: _core.View,
        filters: _core.View,
        result: _core.View,
        start: _core.Affine | int,
    ) -> Body:
        """Body of the innermost loop: column start + o of the result."""

        def body(o: _core.Affine) -> None:
            column = result[0 : self.partitions, slice(start + o, start + o + 1)]
            self._window_sum(builder, image, filters, column, start + o)

        return body

    def _window_sum(
        self,
        builder: _core.Builder,
        image: _core.View,
        filters: _core.View,
        column: _core.View,
        position: _core.Affine,
    ) -> None:
        products = builder.sbuf("products", [self.partitions, self.taps], self.dtype)
        window = image[0 : self.partitions, slice(position, position + self.taps)]
        builder.tensor_tensor(products, window, filters, "multiply")
        builder.tensor_reduce(column, products, "add")


def match(measurement: Measurement) -> Case | None:
    """Reads step, sizes and padding."""
    if measurement.family != "conv1d_depthwise":
        return None
    step = wording.number(measurement.kernel, "step", "conv1d")
    image = wording.shape_after(measurement.shapes, "img", "image", "x")
    filters = wording.shape_after(measurement.shapes, "filter", "w")
    dtype = wording.dtype(measurement.dtype)
    if step not in STEPS or image is None or filters is None or dtype is None:
        return None
    batch, channels, width = image[0], image[1], image[-1]
    padding = wording.number(measurement.shapes, "pad", "padding") or 0
    plain = channels <= PARTITIONS or channels % PARTITIONS == 0
    flat = re.search(r"\b1\b", str(image[2:-1])) or len(image) == 3
    if not plain or not flat or filters[0] != channels or width + 2 * padding < filters[-1]:
        return None
    kernel = DepthwiseConvolution(
        measurement.architecture, step, batch, channels, width, filters[-1], padding, dtype
    )
    launch = Launch(kernel.build, published_stack(measurement))
    return Case(measurement, (launch,), total("latency_us"))  # nki.benchmark's NC latency
