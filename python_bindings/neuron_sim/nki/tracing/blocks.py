"""Tensors that are no single tile: with block dimensions whose logical tiles have separate places,
and tiles that the older language declares with the partition dimension alone."""

import math
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

from neuron_sim import _core

from .errors import Unroll, blocks_before_partitions
from .expression import Expression
from .indexing import spelled_out
from .tensor import Storage, Tensor


class Tiles:
    """Shared by the tiles of a tensor. `symbolic`: a block index may be a loop variable,
    otherwise its loop is unrolled."""

    symbolic = False

    def __init__(self, trace: Any, name: str, buffer: Any, sizes: tuple, axis: int, dtype: Any):
        self.trace = trace
        self.name = name
        self.buffer = buffer
        self.sizes = sizes
        self.axis = axis
        self.dtype = dtype
        self.scope = trace.open_scopes[-1]
        self.made_at = trace.uses
        self.tiles: dict[tuple, Tensor] = {}

    def tensor(self) -> Tensor:
        """The whole tensor: its only tile when it has no block dimensions."""
        return Blocks(self, self.sizes, self.axis) if self.axis else self.at(())

    def at(self, index: tuple) -> Tensor:
        """The tile of a block index."""
        return self.tiles[index]

    def storage(self, name: str, shape: tuple, whole: Any, axis: int = 0) -> Storage:
        """The storage of a tile, or of the tensor, which has no View."""
        return Storage(self.trace, name, self.buffer, shape, self.dtype, whole, self.scope, axis)

    def tile_shape(self) -> list:
        """[partitions, free] of a tile."""
        return [self.sizes[self.axis], math.prod(self.sizes[self.axis + 1 :])]

    def label(self, index: tuple) -> str:
        """The name of a tile."""
        return f"{self.name}{list(index)}" if index else self.name

    def tile(self, index: tuple, whole: Any) -> Tensor:
        """The tensor that is a tile's View."""
        shape = self.sizes[self.axis :]
        storage = self.storage(self.label(index), shape, whole)
        storage.made_at = self.made_at
        return Tensor(storage, shape, self.dtype, 0)


class LogicalTiles(Tiles):
    """Tiles declared one by one: `make(index, label, [partitions, free])` gives the View of one."""

    def __init__(self, trace: Any, name: str, buffer: Any, sizes: tuple, axis: int, dtype: Any,
                 make: Callable):  # fmt: skip
        super().__init__(trace, name, buffer, sizes, axis, dtype)
        shape = self.tile_shape()
        for index in product(*[range(size) for size in sizes[:axis]]):
            self.tiles[index] = self.tile(index, make(index, self.label(index), shape))


class RingOfTiles(Tiles):
    """Tiles of a ring of the builder: number sum(steps * index), modulo the ring's size."""

    symbolic = True
    ring: Any = None
    steps: tuple = ()

    def number(self, index: tuple) -> Any:
        """The number of a tile."""
        return sum(each * step for each, step in zip(index, self.steps, strict=True))

    def at(self, index: tuple) -> Tensor:
        known = all(type(each) is int for each in index)
        tile = self.tiles.get(index) if known else None
        if tile is not None:
            return tile
        number = self.number(index)
        tile = self.tile(index, self.ring.turn(number if type(number) is int else number.affine))
        if known:
            self.tiles[index] = tile
        else:
            tile.storage.last_use = sys.maxsize  # it differs between iterations
        return tile


class Blocks(Tensor):
    """A part of such a tensor: `shape` covers the dimensions not indexed yet, the first `axis`
    of them blocks."""

    __slots__ = ("tiles", "prefix")

    def __init__(self, tiles: Tiles, shape: tuple, axis: int, prefix: tuple = ()):
        storage = tiles.storage(tiles.name, tiles.sizes, None, tiles.axis)
        super().__init__(storage, shape, tiles.dtype, axis, (0,) * len(shape))
        self.tiles = tiles
        self.prefix = prefix

    def __getitem__(self, index: Any) -> Tensor:
        items = index if isinstance(index, tuple) else (index,)
        items = self._spelled_out(items)
        axis = self.axis
        prefix = (*self.prefix, *self._numbers(items[:axis]))
        if len(items) < axis:
            return Blocks(self.tiles, self.shape[len(items) :], axis - len(items), prefix)
        tile = self.tiles.at(prefix)
        return tile[items[axis:]] if len(items) > axis else tile

    def _spelled_out(self, items: tuple) -> tuple:
        """Without `...`, and without the slices of whole blocks that come last."""
        items = spelled_out(self, items)
        while items and items[-1] == slice(None) and len(items) <= self.axis:
            items = items[:-1]
        return items

    def _numbers(self, items: tuple) -> list:
        """The indices of the first block dimensions. Unroll for the loops of all of them at once:
        every trace of the kernel declares all tiles."""
        numbers, loops = [], []
        for dimension, item in enumerate(items):
            try:
                numbers.append(self._number(dimension, item))
            except Unroll as request:
                loops += request.keys
        if loops:
            raise Unroll(loops)
        return numbers

    def _number(self, dimension: int, item: Any) -> Any:
        if type(item) is slice or (type(item) is Expression and item.shape):
            raise IndexError(
                f"the index of block dimension {dimension} of `{self.name}` must be a number "
                "or a loop variable: its tiles lie apart."
            )
        size = self.shape[dimension]
        is_symbolic = self.tiles.symbolic and type(item) is Expression and bool(item.terms)
        number = item if is_symbolic else item.__index__()  # of a loop variable: it is unrolled
        low, high = item.bounds() if is_symbolic else (number, number)
        if low < (0 if is_symbolic else -size) or high >= size:
            _core.out_of_bound(self.name, dimension, low, high, size)
        return number if is_symbolic else number % size

    def same_storage(self, *_pattern: Any) -> Tensor:
        """No pattern reaches all of the tiles."""
        raise ValueError(
            f"the blocks of tensor `{self.name}` lie apart: index its block dimensions before its "
            "tiles are viewed in another way."
        )

    @property
    def access(self):
        raise blocks_before_partitions(self)


def insufficient_rank(sizes: tuple) -> ValueError:
    """The vendor's error for a tile without a free dimension."""
    return ValueError(
        f"Insufficient rank: an on-chip tensor of shape {list(sizes)} needs a partition "
        "dimension and at least one free dimension."
    )


class OneDimensional(Tensor):
    """A tile [P]. Kernels that ran on trn1 declare one and then give its name to a loaded column;
    no instruction can read or write it, and it takes no memory."""

    __slots__ = ()

    def __init__(self, trace: Any, name: str, buffer: Any, sizes: tuple, dtype: Any):
        storage = Storage(trace, name, buffer, sizes, dtype, None, trace.open_scopes[-1])
        super().__init__(storage, sizes, dtype, 0)

    def same_storage(self, *_pattern: Any) -> Tensor:
        """No part of it can be used either."""
        raise insufficient_rank(self.shape)

    @property
    def access(self):
        raise insufficient_rank(self.shape)
