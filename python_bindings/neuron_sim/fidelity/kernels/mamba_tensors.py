"""Tensors and instructions that all kernels of the selective scan share."""

from __future__ import annotations

from dataclasses import dataclass

from neuron_sim import _core
from neuron_sim.fidelity import lowering

PARTITIONS = 128


@dataclass(frozen=True)
class ScanSizes:
    """out = sum over states of C * scan(exp(delta * A), delta * u * B)."""

    architecture: str
    batch: int
    channels: int
    sequence: int
    states: int
    dtype: str

    @property
    def channel_tiles(self) -> int:
        """Tiles of 128 channels."""
        return self.channels // PARTITIONS


class ScanTensors:
    """The arguments, and instructions on tiles of 128 channels. Each result is a new tile."""

    def __init__(self, builder: _core.Builder, sizes: ScanSizes) -> None:
        self.builder, self.sizes = builder, sizes
        sequences = [sizes.batch, sizes.channels, sizes.sequence]
        rows = [sizes.batch, sizes.states, sizes.sequence]
        self.delta = builder.argument("delta", sequences, sizes.dtype)
        self.u = builder.argument("u", sequences, sizes.dtype)
        self.a = builder.argument("A", [sizes.channels, sizes.states], sizes.dtype)
        self.b = builder.argument("B", rows, sizes.dtype)
        self.c = builder.argument("C", rows, sizes.dtype)
        self.out = builder.argument("out", sequences, sizes.dtype)

    def tile(self, label: str, columns: int | None = None, ring: int = 1) -> _core.View:
        """A new SBUF tile of 128 channels, or a ring of them; by default of the whole sequence."""
        width = self.sizes.sequence if columns is None else columns
        return self.builder.sbuf(label, [PARTITIONS, width], self.sizes.dtype, ring=ring)

    def part(
        self,
        tensor: _core.View,
        b: _core.Affine,
        c: _core.Affine | int,
        columns: slice | None = None,
    ) -> _core.View:
        """Channel tile c of image b of delta, u or the result."""
        channels = slice(c * PARTITIONS, c * PARTITIONS + PARTITIONS)
        return tensor[b, channels, slice(None) if columns is None else columns]

    def load(
        self,
        tensor: _core.View,
        b: _core.Affine,
        c: _core.Affine | int,
        label: str,
        columns: slice | None = None,
    ) -> _core.View:
        """Loads channel tile c."""
        source = self.part(tensor, b, c, columns)
        tile = self.tile(label, source.shape[1])
        self.builder.dma_copy(tile, source)
        return tile

    def load_a(self, c: _core.Affine | int, s: _core.Affine) -> _core.View:
        """A [128, 1] of one state: elements a row of A apart."""
        channels = slice(c * PARTITIONS, c * PARTITIONS + PARTITIONS)
        tile = self.tile("a", 1)
        self.builder.dma_copy(tile, self.a[channels, slice(s, s + 1)])
        return lowering.scalar_operand(self.builder, tile)

    def load_a_block(self, c: _core.Affine) -> _core.View:
        """A [128, states]."""
        channels = slice(c * PARTITIONS, c * PARTITIONS + PARTITIONS)
        tile = self.tile("a_block", self.sizes.states)
        self.builder.dma_copy(tile, self.a[channels])
        return lowering.scalar_operand(self.builder, tile)

    def load_row(
        self,
        tensor: _core.View,
        b: _core.Affine,
        s: _core.Affine,
        label: str,
        columns: slice | None = None,
    ) -> _core.View:
        """Row [1, N] of B or C."""
        source = tensor[b, slice(s, s + 1), slice(None) if columns is None else columns]
        row = self.builder.sbuf(label, [1, source.shape[1]], self.sizes.dtype)
        self.builder.dma_copy(row, source)
        return row

    def exponential(self, delta: _core.View, a: _core.View) -> _core.View:
        """exp(delta * a)"""
        powers = self.tile("powers", delta.shape[1])
        self.builder.activation(powers, "exp", delta, scale=a)
        return powers

    def multiply(self, left: _core.View, right: _core.View, label: str) -> _core.View:
        """left * right"""
        product = self.tile(label, left.shape[1])
        self.builder.tensor_tensor(product, left, right, "multiply")
        return product

    def scan(
        self, powers: _core.View, inputs: _core.View, initial: _core.View | float
    ) -> _core.View:
        """x[t] = powers[t] * x[t - 1] + inputs[t]"""
        result = self.tile("scanned", powers.shape[1])
        self.builder.tensor_tensor_scan(result, powers, inputs, initial, "multiply", "add")
        return result
