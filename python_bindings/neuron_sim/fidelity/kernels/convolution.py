"""Shared by the convolution kernels of the CS149 assignment: sizes and their texts."""

from __future__ import annotations

from dataclasses import dataclass

from neuron_sim import _core
from neuron_sim.fidelity import wording
from neuron_sim.fidelity.measurement import Measurement

TILE = 128
"""Channels of a tile."""

MOVING = 512
"""Columns of the moving operand."""


@dataclass(frozen=True)
class Convolution:
    """x (batch, channels, height, width) * w (out_channels, channels, kernel, kernel) + bias, then
    the maximum of windows of pool x pool. No padding, stride 1."""

    architecture: str
    batch: int
    channels: int
    height: int
    width: int
    out_channels: int
    kernel: int
    pool: int
    dtype: str

    @property
    def out_height(self) -> int:
        """Rows before pooling."""
        return self.height - self.kernel + 1

    @property
    def out_width(self) -> int:
        """Columns before pooling."""
        return self.width - self.kernel + 1

    @property
    def in_tiles(self) -> int:
        """Tiles of input channels."""
        return self.channels // TILE

    @property
    def out_tiles(self) -> int:
        """Tiles of output channels."""
        return self.out_channels // TILE

    def arguments(
        self, builder: _core.Builder
    ) -> tuple[_core.View, _core.View, _core.View, _core.View]:
        """x, w [out, in, kernel, kernel], bias [out, 1] and the result."""
        x = builder.argument("x", [self.batch, self.channels, self.height, self.width], self.dtype)
        w = builder.argument(
            "w", [self.out_channels, self.channels, self.kernel, self.kernel], self.dtype
        )
        bias = builder.argument("bias", [self.out_channels, 1], self.dtype)
        rows, columns = self.out_height // self.pool, self.out_width // self.pool
        out = builder.argument("out", [self.batch, self.out_channels, rows, columns], self.dtype)
        return x, w, bias, out


def channel_tile(index: _core.Affine | int) -> slice:
    """Channels of tile `index`."""
    return slice(index * TILE, index * TILE + TILE)


def read_convolution(measurement: Measurement) -> Convolution | None:
    """Sizes, pool and dtype of the assignment's kernel; None if they break its assertions."""
    if "conv2d" not in measurement.kernel.lower():
        return None
    x = wording.shape_after(measurement.shapes, "x", "input")
    w = wording.shape_after(measurement.shapes, "w", "weights?", "filter")
    dtype = wording.dtype(measurement.dtype)
    if x is None or w is None or dtype is None or len(x) != 4 or len(w) != 4:
        return None
    if w[1] != x[1] or w[2] != w[3] or x[1] % TILE or w[0] % TILE:
        return None
    result = Convolution(measurement.architecture, *x, w[0], w[2], _pool(measurement), dtype)
    fits = 0 < result.out_width <= MOVING and result.out_height > 0
    pooled = result.out_width % result.pool == 0 and result.out_height % result.pool == 0
    return result if fits and pooled else None


def _pool(measurement: Measurement) -> int:
    """Window of the pooling; 1 when no text mentions it (all kernels are named ..._maxpool)."""
    stated = wording.number(measurement.text, "pool_size", "pool size", "maxpool size", "pool")
    if stated:
        return stated
    shapes, named = measurement.shapes.lower(), measurement.id.lower()
    if "no pool" in measurement.text or "without pool" in measurement.text or "nopool" in named:
        return 1
    pooled = "with pool" in shapes or "with maxpool" in shapes or "2x2" in shapes
    return 2 if pooled or "pool" in named else 1
