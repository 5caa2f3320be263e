"""The nki.language functions that the kernels use, as their front end lowers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from neuron_sim._core import Affine, Builder, View

Index: TypeAlias = int | Affine

PARTITIONS = 128
"""nl.tile_size.pmax: rows of a tile; also gemm_stationary_fmax."""
MOVING = 512
"""nl.tile_size.gemm_moving_fmax: columns of a product."""


def load(b: Builder, source: View, dtype: str | None = None) -> View:
    """nl.load: a new tile in SBUF; the DMA casts to another dtype on the way."""
    tile = b.sbuf(source.label + "_tile", source.shape, dtype or source.dtype)
    b.dma_copy(tile, source)
    return tile


def store(b: Builder, destination: View, tile: View) -> None:
    """nl.store; the DMA casts to another dtype on the way."""
    b.dma_copy(destination, tile)


def zeros(b: Builder, shape: list[int], label: str = "accumulator") -> View:
    """nl.zeros(..., buffer=nl.psum): an accumulator in fp32."""
    tile = b.psum(label, shape)
    b.memset(tile, 0.0)
    return tile


def accumulate(
    b: Builder, sum_: View, depth: int, operands: Callable[[Index], tuple[View, View]]
) -> None:
    """`for k in nl.affine_range(depth): sum_ += nc_matmul(stationary, moving)`."""

    def body(k: Index) -> None:
        stationary, moving = operands(k)
        b.nc_matmul(sum_, stationary, moving, accumulate=True)

    b.loop(depth, body)


def product(
    b: Builder, sum_: View, depth: int, operands: Callable[[Index], tuple[View, View]]
) -> None:
    """A product into a tile that nothing has written: the first multiply overwrites it."""
    stationary, moving = operands(0)
    b.nc_matmul(sum_, stationary, moving, accumulate=False)

    def body(k: Index) -> None:
        stationary, moving = operands(k + 1)
        b.nc_matmul(sum_, stationary, moving, accumulate=True)

    b.loop(depth - 1, body)


def transposed(b: Builder, data: View) -> View:
    """nisa.nc_transpose on the Tensor engine: [F, P] in PSUM.

    Generation 2 multiplies with an identity and leaves fp32, later ones move the bits.
    """
    exact = b.architecture != "trn1"
    partitions, free = data.shape
    tile = b.psum(data.label + "_t", [free, partitions], data.dtype if exact else "float32")
    b.nc_transpose(tile, data, engine="tensor")
    return tile


def copied(b: Builder, source: View, dtype: str | None = None, engine: str = "auto") -> View:
    """nl.copy, nisa.tensor_copy: a new tile in SBUF."""
    tile = b.sbuf(source.label + "_copy", source.shape, dtype or source.dtype)
    b.tensor_copy(tile, source, engine=engine)
    return tile


def block(start: Index, size: int) -> slice:
    """nl.ds: `size` elements of block number `start`."""
    return slice(start * size, start * size + size)
