"""Direct allocation: `sbuf.alloc(function)`, `psum.mod_alloc(base_bank=0)`, as nl.ndarray's buffer.

A logical tile (one index of the block dimensions) lies where the allocator says. Logical tiles with
one address are one physical tile: what writes it again waits for its readers.
"""

from itertools import product

from neuron_sim.nki.tracing import Tensor
from neuron_sim.nki.tracing import buffers as memories
from neuron_sim.nki.tracing.buffers import Buffer
from neuron_sim.nki.tracing.methods import dense_strides
from neuron_sim.nki.tracing.tensor import Storage

_BANK_BYTES = 2048


class Allocator(Buffer):
    """A buffer that says where tiles lie: `address(index, partitions, bytes)`.

    The address is (first partition, byte in the partitions); in PSUM the byte of a bank.
    """

    __slots__ = ("address",)

    def __init__(self, memory: str, address):
        super().__init__(memory, memory)
        self.address = address

    def place(self, trace, sizes: tuple, axis: int, dtype, name: str):
        """The tensor of a shape with its tiles placed."""
        free = 1
        for size in sizes[axis + 1 :]:
            free *= size
        physical: dict = {}
        tiles: dict = {}
        shape = sizes[axis:]
        for index in product(*[range(size) for size in sizes[:axis]]):
            where = self.address(index, sizes[axis], free * dtype.itemsize)
            storage = physical.get(where)
            if storage is None:
                storage = physical[where] = self._storage(trace, name, shape, free, dtype, where)
            tiles[index] = Tensor(storage, shape, dtype, (1, *dense_strides(shape[1:])), 0)
        return tiles[()] if axis == 0 else Blocks(tiles, sizes, dtype, axis)

    def _storage(self, trace, name, shape, free, dtype, where) -> Storage:
        start_partition, byte = where
        whole = trace.builder.place(
            self.memory, name, [shape[0], free], dtype.name, byte, start_partition
        )
        return Storage(trace, name, self, shape, dtype, whole, trace.open_scopes[-1])


class Blocks(Tensor):
    """A tensor with block dimensions whose tiles are placed one by one."""

    __slots__ = ("tiles", "prefix")

    def __init__(self, tiles: dict, shape: tuple, dtype, axis: int, prefix: tuple = ()):
        any_tile = next(iter(tiles.values()))
        super().__init__(any_tile.storage, shape, dtype, (0,) * len(shape), axis)
        self.tiles = tiles
        self.prefix = prefix

    def __getitem__(self, index):
        items = index if isinstance(index, tuple) else (index,)
        if items and items[0] is Ellipsis:
            return self if len(items) == 1 else super().__getitem__(index)
        prefix = self.prefix
        used = 0
        for item in items[: self.axis]:
            if isinstance(item, slice):
                raise IndexError(
                    f"tensor `{self.name}` is directly allocated: its block dimensions are indexed "
                    "with numbers."
                )
            number = item.__index__()  # a loop variable: its loop is unrolled
            size = self.shape[used]
            if not -size <= number < size:
                raise IndexError(
                    f"Out-of-bound access for tensor `{self.name}` on dimension {used}: "
                    f"index range [{number}, {number}] exceed dimension size of {size}"
                )
            prefix = (*prefix, number % size)
            used += 1
        if used < self.axis:
            return Blocks(self.tiles, self.shape[used:], self.dtype, self.axis - used, prefix)
        tile = self.tiles[prefix]
        return tile[items[used:]] if len(items) > used else tile

    @property
    def access(self):
        raise ValueError(
            f"Failed to infer tile from tensor '{self.name}': the first dimension of a tile is the "
            "partition dimension, but the tensor has block dimensions before it."
        )


def _position(index: tuple, tiles: tuple) -> int:
    """The number of a logical tile among `tiles` physical ones per block dimension."""
    position = 0
    for number, count in zip(index, tiles, strict=True):
        position = position * count + number % count
    return position


def _counts(tiles, index: tuple, name: str) -> tuple:
    counts = (tiles,) if isinstance(tiles, int) else tuple(tiles)
    if not counts:
        return (1,) * len(index)
    if len(counts) != len(index):
        raise ValueError(
            f"mod_alloc: {name} has {len(counts)} numbers, the tensor has {len(index)} block "
            "dimensions."
        )
    return counts


class sbuf:
    """Direct allocation in SBUF."""

    memory = "sbuf"

    @staticmethod
    def alloc(func):
        """func(index, partitions, bytes) -> (first partition, byte)."""

        def address(index, partitions, size):
            start_partition, byte = func(index, partitions, size)
            return start_partition, byte

        return Allocator("sbuf", address)

    @staticmethod
    def mod_alloc(*, base_addr, base_partition=0, num_par_tiles=(), num_free_tiles=()):
        """Tiles side by side from `base_addr`, their numbers taken modulo those of the physical
        tiles: num_free_tiles in bytes, num_par_tiles in partitions."""

        def address(index, partitions, size):
            along = _position(index, _counts(num_free_tiles, index, "num_free_tiles"))
            across = _position(index, _counts(num_par_tiles, index, "num_par_tiles"))
            return base_partition + across * partitions, base_addr + along * size

        return Allocator("sbuf", address)

    @staticmethod
    def auto_alloc():
        """nl.sbuf."""
        return memories.sbuf


class psum:
    """Direct allocation in PSUM, in whole banks."""

    memory = "psum"

    @staticmethod
    def alloc(func):
        """func(index, partitions, bytes) -> (bank, first partition, byte); the byte must be 0."""

        def address(index, partitions, size):
            bank, start_partition, byte = func(index, partitions, size)
            return _in_bank(bank, start_partition, byte)

        return Allocator("psum", address)

    @staticmethod
    def mod_alloc(
        *,
        base_bank,
        base_addr=0,
        base_partition=0,
        num_bank_tiles=(),
        num_par_tiles=(),
        num_free_tiles=(),
    ):
        """Tiles in banks from `base_bank` on, their numbers taken modulo those of the physical
        tiles: num_bank_tiles in banks, num_par_tiles in partitions, num_free_tiles in bytes."""

        def address(index, partitions, size):
            banks = _position(index, _counts(num_bank_tiles, index, "num_bank_tiles"))
            across = _position(index, _counts(num_par_tiles, index, "num_par_tiles"))
            along = _position(index, _counts(num_free_tiles, index, "num_free_tiles"))
            start_partition = base_partition + across * partitions
            return _in_bank(base_bank + banks, start_partition, base_addr + along * size)

        return Allocator("psum", address)

    @staticmethod
    def auto_alloc():
        """nl.psum."""
        return memories.psum


def _in_bank(bank: int, start_partition: int, byte: int) -> tuple:
    if byte != 0:
        raise ValueError(f"psum: byte address {byte} in bank {bank} must be 0.")
    return start_partition, bank * _BANK_BYTES
