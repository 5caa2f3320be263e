"""Depthwise convolution along one dimension: measured steps of an autocomp optimisation trace.

Source: ucb-bar/autocomp examples/trn-advanced/4_conv1d_trace.py, the first of seven candidates (0)
and the last (6). Per output element: the product of a window with the filter, and its sum.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from neuron_sim import _core
from neuron_sim.fidelity import wording
from neuron_sim.fidelity.case import Case, Launch, total
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.stacks import published_stack

PARTITIONS = 128
BLOCK = 64
"""Outputs of a block of step 6 (OUT_TILE of the source)."""
STEPS = (0, 6)


@dataclass
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
    builder: _core.Builder = field(init=False)

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
        self.builder = _core.Builder(f"conv1d_step{self.step}", self.architecture)
        shape = [self.batch, self.channels, self.width]
        image = self.builder.argument("image", shape, self.dtype)
        filters = self.builder.argument("filter", [self.channels, self.taps], self.dtype)
        out = self.builder.argument("out", [*shape[:2], self.out_width], self.dtype)
        tiles = self.channels // self.partitions
        if self.step == 6:
            self.builder.loop(tiles, lambda c: self._by_channels(image, filters, out, c))
        else:
            self.builder.loop(
                self.batch,
                lambda n: self.builder.loop(
                    tiles, lambda c: self._by_images(image[n], filters, out[n], c)
                ),
            )
        return self.builder.finish()

    def _channels(self, c: _core.Affine) -> slice:
        return slice(c * self.partitions, c * self.partitions + self.partitions)

    def _zeros(self, label: str, columns: int) -> _core.View:
        tile = self.builder.sbuf(label, [self.partitions, columns], self.dtype)
        self.builder.memset(tile, 0.0)
        return tile

    def _load_filter(self, filters: _core.View, c: _core.Affine) -> _core.View:
        tile = self._zeros("filter", self.taps)
        self.builder.dma_copy(tile, filters[self._channels(c)])
        return tile

    def _load_image(self, image: _core.View, c: _core.Affine) -> _core.View:
        tile = self._zeros("image", self.padded)
        inner = tile[0 : self.partitions, self.padding : self.padding + self.width]
        self.builder.dma_copy(inner, image[self._channels(c)])
        return tile

    def _by_images(
        self, image: _core.View, filters: _core.View, out: _core.View, c: _core.Affine
    ) -> None:
        """Step 0: outer loop over images, inner loop over channel tiles."""
        image_tile, filter_tile = self._load_image(image, c), self._load_filter(filters, c)
        result = self._zeros("result", self.out_width)
        self._outputs(image_tile, filter_tile, result, 0, self.out_width)
        self.builder.dma_copy(out[self._channels(c)], result)

    def _by_channels(
        self, image: _core.View, filters: _core.View, out: _core.View, c: _core.Affine
    ) -> None:
        """Step 6: inner loop over images, filter copied to PSUM once per channel tile."""
        loaded = self._load_filter(filters, c)
        # fp32 in PSUM, like everything that Vector computes.
        filter_tile = self.builder.psum("filter_psum", [self.partitions, self.taps])
        self.builder.tensor_copy(filter_tile, loaded, engine="vector")

        def one_image(n: _core.Affine) -> None:
            image_tile = self._load_image(image[n], c)
            result = self._zeros("result", self.out_width)
            full, rest = divmod(self.out_width, BLOCK)
            self.builder.loop(
                full, lambda b: self._outputs(image_tile, filter_tile, result, b * BLOCK, BLOCK)
            )
            if rest:
                self._outputs(image_tile, filter_tile, result, full * BLOCK, rest)
            self.builder.dma_copy(out[n, self._channels(c)], result)

        self.builder.loop(self.batch, one_image)

    def _outputs(
        self,
        image: _core.View,
        filters: _core.View,
        result: _core.View,
        start: _core.Affine | int,
        count: int,
    ) -> None:
        """The innermost loop: columns of the result from `start` on."""

        def output(o: _core.Affine) -> None:
            products = self.builder.sbuf("products", [self.partitions, self.taps], self.dtype)
            window = image[0 : self.partitions, slice(start + o, start + o + self.taps)]
            self.builder.tensor_tensor(products, window, filters, "multiply")
            column = result[0 : self.partitions, slice(start + o, start + o + 1)]
            self.builder.tensor_reduce(column, products, "add")

        self.builder.loop(count, output)


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
