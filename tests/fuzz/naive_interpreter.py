"""Runs a listing in NumPy, one instruction after the other: slow, and shares no code with the core.

It knows tiles and tensors, loops, registers and addresses; naive_instructions.py has the
instructions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from listing import DTYPES, Access, Listing, Operation, Repeat, Step, Storage
from naive_instructions import INSTRUCTIONS

PARTITIONS = 128


class Machine:
    """Memories, registers and loop variables while a listing runs."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.registers: dict[int, int] = {}
        self.variables: list[int] = []
        self.by_hand: dict[str, np.ndarray] = {}
        self.tiles = [self._allocate(i, each) for i, each in enumerate(listing.storages)]

    def _allocate(self, number: int, storage: Storage) -> list[np.ndarray]:
        dtype, shape = DTYPES[storage.dtype], storage.shape
        if storage.memory == "argument":
            return [self.listing.inputs[number].copy()]
        if storage.address is None:
            return [np.zeros(shape, dtype) for _ in range(storage.ring)]
        # Tiles that are placed by hand may share bytes.
        memory = self.by_hand.setdefault(storage.memory, np.zeros((PARTITIONS, 1 << 15), np.uint8))
        size = int(np.prod(shape[1:])) * dtype.itemsize
        tiles = []
        for turn in range(storage.ring):
            first = storage.address + turn * size
            rows = memory[: shape[0], first : first + size].view(dtype)
            tiles.append(rows.reshape(shape, copy=False))
        return tiles

    def run(self) -> list[np.ndarray]:
        """The arguments at the end."""
        with np.errstate(all="ignore"):
            self._block(self.listing.body)
        return [self.tiles[i][0] for i in self.listing.arguments()]

    def _block(self, block: Sequence[Operation | Repeat]) -> None:
        for each in block:
            if isinstance(each, Operation):
                INSTRUCTIONS[each.name](self, each.accesses, **each.parameters)
                continue
            trips = each.trips if each.register is None else self.registers[each.register]
            for trip in range(trips):
                self.variables.append(trip)
                self._block(each.body)
                self.variables.pop()

    def tile(self, access: Access) -> np.ndarray:
        """The tile of the ring, or the tensor, that an access starts from."""
        ring = self.tiles[access.storage]
        turn = 0 if access.turn is None else access.turn.value(self.variables)
        return ring[turn % len(ring)]

    def array(self, access: Access) -> np.ndarray:
        """The elements as an array that shares their memory."""
        array = self.tile(access)
        on_chip = self.listing.storages[access.storage].memory in ("sbuf", "psum")
        if access.register is not None:
            array = self._moved(array, access, on_chip)
        for step in access.steps:
            array = self._stepped(array, step, access, on_chip)
        return array

    def _moved(self, array: np.ndarray, access: Access, on_chip: bool) -> np.ndarray:
        """A register moves a slice of the first free dimension (the first one in HBM)."""
        register, scale = access.register  # type: ignore[misc]
        axis = 1 if on_chip else 0
        rows = self.registers[register] * scale // array.strides[axis]
        if rows < 0:
            raise IndexError("a register leaves its tensor")
        return array[:, rows:] if on_chip else array[rows:]

    def _stepped(self, array: np.ndarray, step: Step, access: Access, on_chip: bool) -> np.ndarray:
        numbers = step.numbers
        if step.kind == "slice":
            axis, start, size, stride = numbers
            first = start.value(self.variables)
            if first + (size - 1) * stride >= array.shape[axis]:
                raise IndexError("a slice leaves its tensor")
            chosen = slice(first, first + (size - 1) * stride + 1, stride)
            return array[(*[slice(None)] * axis, chosen)]
        if step.kind == "select":
            return array[(*[slice(None)] * numbers[0], numbers[1].value(self.variables))]
        if step.kind == "pattern":
            return self._pattern(array, access, numbers, on_chip)
        if step.kind == "broadcast":
            if array.shape[numbers[0]] == numbers[1]:
                return array  # still writable
            shape = [*array.shape]
            shape[numbers[0]] = numbers[1]
            return np.broadcast_to(array, shape)
        if step.kind == "split":
            axis, outer, inner = numbers
            shape = (*array.shape[:axis], outer, inner, *array.shape[axis + 1 :])
            return array.reshape(shape, copy=False)
        if step.kind == "permute":
            return array.transpose(numbers[0])
        if step.kind == "expand":
            return np.expand_dims(array, numbers[0])
        if step.kind == "reinterpret":
            return array.view(DTYPES[numbers[0]])
        raise NotImplementedError(step.kind)

    def _pattern(
        self, array: np.ndarray, access: Access, numbers: tuple, on_chip: bool
    ) -> np.ndarray:
        dimensions, offset, partition = numbers
        whole = self.tile(access)
        first = offset.value(self.variables)
        if not on_chip:
            flat = whole.reshape(-1, copy=False)[first:]
            strides = [step * whole.itemsize for step, _ in dimensions]
        else:
            row = whole.strides[0]
            flat = whole.reshape(whole.shape[0], -1, copy=False)
            flat = flat[partition.value(self.variables) :, first:]
            strides = [dimensions[0][0] * row]
            strides += [step * whole.itemsize for step, _ in dimensions[1:]]
        # NumPy strides bits more readily than floats of one byte.
        words = flat.view(f"u{whole.itemsize}")
        shape = [size for _, size in dimensions]
        return np.lib.stride_tricks.as_strided(words, shape, strides).view(whole.dtype)

    def rows(self, access: Access, index: np.ndarray, skips: bool) -> list[int | None]:
        """Rows of the tensor that an indirect access names; None for one that is left alone."""
        count, named = access.rows  # type: ignore[misc]
        result: list[int | None] = []
        for row in index.reshape(-1)[:named]:
            inside = 0 <= int(row) < count
            if not inside and not skips:
                raise IndexError(f"row {row} of {count}")
            result.append(int(row) if inside else None)
        return result
