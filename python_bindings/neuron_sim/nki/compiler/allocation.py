"""Direct allocation: `sbuf.alloc(function)`, `psum.mod_alloc(base_bank=0)`, as nl.ndarray's buffer.

A tensor has one logical tile per index of its block dimensions; the allocator places each.
Logical tiles with one address share its bytes: a rewrite waits for their readers.
"""

import inspect
from collections.abc import Callable
from itertools import product
from typing import Any

from neuron_sim import _core
from neuron_sim.nki.isa.versions import target_architecture
from neuron_sim.nki.tracing import Tensor, buffers
from neuron_sim.nki.tracing.blocks import LogicalTiles, RingOfTiles
from neuron_sim.nki.tracing.buffers import Buffer

Address = tuple[int, int]  # first partition, byte within the partitions


class Allocator(Buffer):
    """A buffer that places tiles: `address(index, partitions, bytes)`.

    `modulo`: physical tiles along the bytes of a partition per block dimension, None when the
    addresses are not those of a modulo allocation in one row.
    """

    __slots__ = ("address", "modulo")

    def __init__(self, memory: str, address: Any, modulo: tuple | None = None):
        super().__init__(memory, memory)
        self.address = address
        self.modulo = modulo

    def place(self, trace: Any, sizes: tuple, axis: int, dtype: Any, name: str) -> Tensor:
        """The tensor of a shape; dimensions before `axis` are its blocks.

        ValueError when an address of a tile does not exist or may not be used.
        """
        trace.allocation.allocate_directly(name)
        allocator = trace.allocation.allocator(self)
        return allocator._placed(trace, sizes, axis, dtype, name)

    def _placed(self, trace: Any, sizes: tuple, axis: int, dtype: Any, name: str) -> Tensor:
        ring = self._ring(trace, sizes, axis, dtype, name)
        if ring is not None:
            return ring.tensor()

        def make(index, label, shape):
            where = self._checked(trace, label, index, shape[0], shape[1] * dtype.itemsize)
            tile = trace.builder.place(self.memory, label, shape, dtype.name, *where[::-1])
            if self.memory == "psum":
                trace.allocation.place_in_bank(tile, where[1] // trace.target.limits.psum_bank)
            return tile

        return LogicalTiles(trace, name, self, sizes, axis, dtype, make).tensor()

    def _ring(self, trace: Any, sizes: tuple, axis: int, dtype: Any, name: str) -> Any:
        """The tiles as a ring, whose index may be a loop variable; None when they form none."""
        if self.modulo is None or axis == 0 or trace.allocation.apart:
            return None
        blocks, partitions = sizes[:axis], sizes[axis]
        tiles = RingOfTiles(trace, name, self, sizes, axis, dtype)
        row = tiles.tile_shape()[1] * dtype.itemsize
        places = {
            index: self._checked(trace, tiles.label(index), index, partitions, row)
            for index in product(*[range(size) for size in blocks])
        }
        start, first = next(iter(places.values()))
        numbers = {index: (byte - first) // row for index, (_, byte) in places.items()}
        tiles.steps, count = _steps_and_count(blocks, self.modulo or (1,) * axis, numbers)
        if any(tiles.number(index) % count != at for index, at in numbers.items()):
            return None
        trace.allocation.has_rings = True
        tiles.ring = trace.builder.place(
            self.memory, name, tiles.tile_shape(), dtype.name, first, start, count
        )
        return tiles

    def _checked(self, trace: Any, tile: str, index: tuple, partitions: int, row: int) -> Address:
        start, byte = self.address(index, partitions, row)
        start, byte = start.__index__(), byte.__index__()
        allowed = range(0, trace.target.limits.partitions, _granule(partitions))
        if start not in allowed:
            raise ValueError(
                f"start partition {start} of tile `{tile}` with {partitions} partitions is not "
                f"supported: it must be {' or '.join(map(str, allowed))}."
            )
        limit, bank = trace.target.bytes_per_partition(self.memory), trace.target.limits.psum_bank
        if self.memory == "psum" and row > bank:
            raise ValueError(
                f"tile `{tile}` with {row} bytes per partition crosses a PSUM bank: a tile in PSUM "
                f"has at most {bank} bytes per partition."
            )
        if byte < 0 or byte + row > limit:
            raise ValueError(
                f"byte address {byte} of tile `{tile}` with {row} bytes per partition is out of "
                f"range: {self.memory} has bytes [0, {limit}) for tensors in each partition."
            )
        return start, byte


def _granule(partitions: int) -> int:
    """Tiles of that many partitions start at a multiple of this."""
    quadrant = _core.QUADRANT_PARTITIONS
    return next((n * quadrant for n in (1, 2) if partitions <= n * quadrant), 4 * quadrant)


def _steps_and_count(blocks: tuple, counts: tuple, numbers: dict) -> tuple[tuple, int]:
    """The physical tile's increment per step of each block index, and the number of physical
    tiles: no more than are used, unless the outermost index wraps around."""
    steps, count, wraps = [], 1, False
    for size, physical in reversed(list(zip(blocks, counts, strict=True))):
        steps.append(count if physical > 1 else 0)
        wraps = size > physical > 1 or (wraps and physical == 1)
        count *= physical
    return tuple(reversed(steps)), count if wraps else max(numbers.values()) + 1


def _asked(func: Callable) -> Callable:
    """func(block index, partitions, bytes), by the names of the vendor's documentation if it has
    them: some of its parameters may be bound already."""
    names = ("idx", "pdim_size", "fdim_size")
    parameters = inspect.signature(func).parameters
    if not all(name in parameters for name in names):
        return func
    return lambda *values: func(**dict(zip(names, values, strict=True)))


def _in_bank(bank: int, start_partition: int, byte: int) -> Address:
    """The address of a tile in PSUM, whose tiles begin at the start of a bank."""
    if byte != 0 or start_partition != 0:
        raise ValueError(
            f"a tile in PSUM must start at partition 0 and byte 0 of its bank, not at partition "
            f"{start_partition} and byte {byte} of bank {bank}."
        )
    return 0, bank * target_architecture().limits.psum_bank


def _position(index: tuple, tiles: Any, parameter: str) -> int:
    """The number of a logical tile's physical tile: linearize(index mod tiles)."""
    counts = (tiles,) if isinstance(tiles, int) else tuple(tiles)
    if not counts or not index:
        return 0
    if len(counts) != len(index):
        raise ValueError(
            f"{parameter} {counts} of 'mod_alloc' must be empty or have as many numbers as the "
            f"tensor has block dimensions, which are {len(index)}."
        )
    if any(count < 1 for count in counts):
        raise ValueError(f"{parameter} {counts} of 'mod_alloc' must be positive.")
    position = 0
    for number, count in zip(index, counts, strict=True):
        position = position * count + number % count
    return position


class sbuf:
    """Direct allocation in SBUF."""

    @staticmethod
    def alloc(func):
        """func(block index, partitions, bytes) -> (first partition, byte) of every logical tile."""

        return Allocator("sbuf", _asked(func))

    @staticmethod
    def mod_alloc(*, base_addr, base_partition=0, num_par_tiles=(), num_free_tiles=()):
        """Physical tiles side by side from `base_addr`: num_free_tiles of them along the bytes of
        the partitions, num_par_tiles along the partitions, logical tiles modulo their number."""

        def address(index, partitions, size):
            along = _position(index, num_free_tiles, "num_free_tiles")
            across = _position(index, num_par_tiles, "num_par_tiles")
            return base_partition + across * partitions, base_addr + along * size

        counts = (num_free_tiles,) if isinstance(num_free_tiles, int) else tuple(num_free_tiles)
        return Allocator("sbuf", address, counts if not num_par_tiles else None)

    @staticmethod
    def auto_alloc():
        """nl.sbuf."""
        return buffers.sbuf


class psum:
    """Direct allocation in PSUM, one tile per bank."""

    @staticmethod
    def alloc(func):
        """func(block index, partitions, bytes) -> (bank, first partition, byte); both are 0."""

        place = _asked(func)
        return Allocator("psum", lambda *tile: _in_bank(*place(*tile)))

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
        """Physical tiles in the banks from `base_bank` on, num_bank_tiles of them."""

        def address(index, partitions, size):
            bank = base_bank + _position(index, num_bank_tiles, "num_bank_tiles")
            across = _position(index, num_par_tiles, "num_par_tiles")
            along = _position(index, num_free_tiles, "num_free_tiles")
            return _in_bank(bank, base_partition + across * partitions, base_addr + along * size)

        return Allocator("psum", address)

    @staticmethod
    def auto_alloc():
        """nl.psum."""
        return buffers.psum
