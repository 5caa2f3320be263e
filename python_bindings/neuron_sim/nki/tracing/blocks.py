"""Tensors with block dimensions whose logical tiles have places of their own."""

from collections.abc import Callable
from itertools import product
from typing import Any

from .access import out_of_bound
from .expression import Expression
from .methods import dense_strides
from .tensor import Storage, Tensor


class LogicalTiles:
    """What the tiles of a tensor have in common, and the tiles by block index.

    `make(index, label, [partitions, free])` declares one and gives its View.
    """

    def __init__(self, trace: Any, name: str, buffer: Any, sizes: tuple, axis: int, dtype: Any,
                 make: Callable):  # fmt: skip
        self.trace = trace
        self.name = name
        self.buffer = buffer
        self.sizes = sizes
        self.axis = axis
        self.dtype = dtype
        blocks = product(*[range(size) for size in sizes[:axis]])
        self.tiles = {index: self._made(index, make) for index in blocks}

    def tensor(self) -> Tensor:
        """The whole tensor: its only tile when it has no block dimensions."""
        return Blocks(self, self.sizes, self.axis) if self.axis else self.tiles[()]

    def storage(self, name: str, shape: tuple, whole: Any, axis: int = 0) -> Storage:
        """Of a tile; of the tensor, that has no View."""
        scope = self.trace.open_scopes[-1]
        return Storage(self.trace, name, self.buffer, shape, self.dtype, whole, scope, axis)

    def _made(self, index: tuple, make: Callable) -> Tensor:
        shape = self.sizes[self.axis :]
        free = 1
        for size in shape[1:]:
            free *= size
        name = f"{self.name}{list(index)}" if index else self.name
        storage = self.storage(name, shape, make(index, name, [shape[0], free]))
        return Tensor(storage, shape, self.dtype, (1, *dense_strides(shape[1:])), 0)


class Blocks(Tensor):
    """A part of such a tensor: `shape` is that of the dimensions not indexed yet, the first `axis`
    of them blocks. Loops over blocks are unrolled: a block index has to be a number."""

    __slots__ = ("tiles", "prefix")

    def __init__(self, tiles: LogicalTiles, shape: tuple, axis: int, prefix: tuple = ()):
        storage = tiles.storage(tiles.name, tiles.sizes, None, tiles.axis)
        super().__init__(storage, shape, tiles.dtype, (0,) * len(shape), axis)
        self.tiles = tiles
        self.prefix = prefix

    def __getitem__(self, index: Any) -> Tensor:
        items = index if isinstance(index, tuple) else (index,)
        items = self._spelled_out(items)
        prefix, axis = self.prefix, self.axis
        for used, item in enumerate(items[:axis]):
            prefix = (*prefix, self._number(used, item))
        if len(items) < axis:
            return Blocks(self.tiles, self.shape[len(items) :], axis - len(items), prefix)
        tile = self.tiles.tiles[prefix]
        return tile[items[axis:]] if len(items) > axis else tile

    def _spelled_out(self, items: tuple) -> tuple:
        """Without `...`, and without the slices of whole blocks that come last."""
        for position, item in enumerate(items):
            if item is Ellipsis:
                missing = len(self.shape) - len(items) + 1
                items = (*items[:position], *(slice(None),) * missing, *items[position + 1 :])
                break
        while items and items[-1] == slice(None) and len(items) <= self.axis:
            items = items[:-1]
        return items

    def _number(self, dimension: int, item: Any) -> int:
        if type(item) is slice or (type(item) is Expression and item.shape):
            raise IndexError(
                f"the index of block dimension {dimension} of `{self.name}` must be a number "
                "or a loop variable: its tiles lie apart."
            )
        number = item.__index__()  # of a loop variable: its loop is unrolled
        size = self.shape[dimension]
        if not -size <= number < size:
            raise out_of_bound(self, dimension, number, number, size)
        return number % size

    @property
    def access(self):
        """err_failed_to_infer_tile_from_local_tensor."""
        raise ValueError(
            f"Failed to infer tile from tensor '{self.name}': the first dimension of a tile is the "
            "partition dimension, but the tensor has block dimensions before it."
        )
