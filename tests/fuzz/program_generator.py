"""Random programs: tiles and rings, views, loops, registers, indirect DMA, products in PSUM."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
from listing import DTYPES, Access, Index, Listing, Storage, is_integer
from program_builder import Writer

FLOATS = ("float32", "bfloat16", "float16", "float8_e5m2")
INTEGERS = ("int32", "uint32", "int16", "uint16", "int8", "uint8")


class Generator(Writer):
    """Makes one program. `large`: enough work for the executor's graph."""

    def __init__(
        self, random_: random.Random, architecture: str, large: bool,
        statements: Sequence[Callable[[Generator], None]],
    ) -> None:  # fmt: skip
        by_hand = random_.random() < 0.2
        automatic = not by_hand and random_.random() < 0.4
        super().__init__(random_, architecture, "automatic" if automatic else "scoped")
        self.large, self.by_hand, self.statements = large, by_hand, statements
        self.special = random_.random() < 0.1
        self.partition_choices = [128] if large else random_.sample(
            [1, 2, 3, 7, 16, 31, 32, 33, 64, 100, 128], 2
        )  # fmt: skip
        self.width = 512 if large else random_.choice([1, 2, 5, 8, 12, 24, 40])
        self.tiles: list[int] = []
        self.sums: list[int] = []
        self.registers: list[int] = []
        self.free_address = 6144  # beyond the tiles that may share bytes

    def pick(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def values(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """Small numbers whose sums are exact."""
        source = np.random.default_rng(self.random.getrandbits(63))
        low = 0 if dtype.startswith("u") else -3
        values = source.integers(low, 4, shape).astype(np.float32)
        if self.special and not is_integer(dtype):
            chosen = source.random(shape)
            values = np.where(chosen < 0.03, np.inf, np.where(chosen > 0.98, np.nan, values))
            values = np.where((chosen > 0.9) & (chosen < 0.93), np.float32(-0.0), values)
        return values.astype(DTYPES[dtype])

    def argument(self, values: np.ndarray, dtype: str) -> Access:
        number = self.storage(Storage("argument", values.shape, dtype))
        assert number is not None
        self.listing.inputs[number] = values
        return Access(number)

    def tile(self, memory: str, dtype: str) -> int | None:
        """A tile that is set to something right away."""
        partitions = self.random.choice(self.partition_choices)
        free: tuple[int, ...] = (self.width,)
        if self.random.random() < 0.3:
            free = (self.pick(1, 4), self.width) if not self.large else (4, self.width // 4)
        ring = self.random.choice([1, 1, 2, 3]) if not self.large else 1
        address = self.pick(0, 40) * 64 if self.by_hand and memory == "sbuf" else None
        number = self.storage(Storage(memory, (partitions, *free), dtype, ring, address))
        if number is None:
            return None
        (self.tiles if memory == "sbuf" else self.sums).append(number)
        for turn in range(ring):
            access = Access(number, Index(turn) if ring > 1 else None)
            if memory == "psum" or self.random.random() < 0.3:
                self.emit("memset", {"dst": access}, value=float(self.pick(0, 3)))
            else:
                source = self.argument(self.values((partitions, *free), dtype), dtype)
                self.emit("dma_copy", {"dst": access, "src": source})
        return number

    def tile_apart(self, shape: tuple[int, ...], dtype: str) -> int | None:
        """A tile that shares no byte with another one."""
        address = None
        if self.by_hand:
            address = self.free_address
            self.free_address += (int(np.prod(shape[1:])) * DTYPES[dtype].itemsize + 63) // 64 * 64
        return self.storage(Storage("sbuf", shape, dtype, 1, address))

    def constant_tile(self, values: np.ndarray, dtype: str) -> Access | None:
        number = self.tile_apart(values.shape, dtype)
        if number is None:
            return None
        if not self.emit("dma_copy", {"dst": Access(number), "src": self.argument(values, dtype)}):
            return None
        return Access(number)

    def program(self) -> Listing:
        dtypes = [*self.random.sample(FLOATS, 2), *self.random.sample(INTEGERS, 2)]
        if self.by_hand:  # bytes that tiles share are elements of one dtype
            dtypes = [self.random.choice(dtypes)] * 4
        for dtype in dtypes[: 2 if self.large else 4]:
            for _ in range(self.pick(1, 2)):
                self.tile("sbuf", dtype)
        self.tile("psum", "float32")
        self.block(2 if self.random.random() < 0.7 else 0)
        self.results()
        return self.listing

    def block(self, depth: int) -> None:
        for _ in range(self.pick(2, 6)):
            if depth > 0 and self.random.random() < 0.3:
                register = None
                if self.registers and self.random.random() < 0.2:
                    register = self.random.choice(self.registers)
                self.open_loop(3 if register is not None else self.pick(2, 5), register)
                self.block(depth - 1)
                self.close_loop()
            else:
                self.random.choice(self.statements)(self)

    def results(self) -> None:
        """Everything that is on chip at the end becomes a result."""
        for number in [*self.tiles, *self.sums]:
            storage = self.listing.storages[number]
            for turn in range(storage.ring):
                source = Access(number, Index(turn) if storage.ring > 1 else None)
                if storage.memory == "psum":
                    copy = self.tile_apart(storage.shape, storage.dtype)
                    if copy is None:
                        continue
                    self.emit("tensor_copy", {"dst": Access(copy), "src": source})
                    source = Access(copy)
                zeros = np.zeros(storage.shape, DTYPES[storage.dtype])
                self.emit("dma_copy", {"dst": self.argument(zeros, storage.dtype), "src": source})

    # Operands

    def meets(self, first: int, second: int) -> bool:
        """Whether two tiles may share bytes."""
        a, b = self.listing.storages[first], self.listing.storages[second]
        if a.address is None or b.address is None:
            return first == second
        ends = []
        for number, each in ((first, a), (second, b)):
            row = int(np.prod(each.shape[1:])) * self.itemsize(number)
            ends.append((each.address or 0, (each.address or 0) + row * each.ring))
        return ends[0][0] < ends[1][1] and ends[1][0] < ends[0][1]

    def target(self, kinds: tuple[str, ...] = ()) -> tuple[Access, int, int] | None:
        """An access that is written, its partitions and elements."""
        numbers = self.tiles + (self.sums if self.random.random() < 0.2 else [])
        if kinds:
            numbers = [i for i in numbers if self.listing.storages[i].dtype in kinds]
        if not numbers:
            return None
        number = self.random.choice(numbers)
        shape = self.listing.storages[number].shape
        partitions = self.random.choice([shape[0], min(shape[0], self.pick(1, 32))])
        total = int(np.prod(shape[1:]))
        elements = self.random.choice([total, self.pick(1, total)])
        if self.large:
            partitions, elements = shape[0], self.random.choice([total, total // 2])
        access = self.carve(number, partitions, elements, reads=False)
        return None if access is None else (access, partitions, elements)

    def source(
        self, target: Access, partitions: int, elements: int, kinds: tuple[str, ...] = (),
        others: tuple[Access, ...] = (),
    ) -> Access | None:  # fmt: skip
        """An access that is read; it is the target itself or shares no byte with it."""
        numbers = [*self.tiles, *self.tiles, *self.sums]
        if kinds:
            numbers = [i for i in numbers if self.listing.storages[i].dtype in kinds]
        self.random.shuffle(numbers)
        for number in numbers[:4]:
            if number == target.storage:
                return target
            if self.meets(number, target.storage):
                continue
            access = self.carve(number, partitions, elements, reads=True)
            if access is not None:
                return access
        return None

    def column(self, target: Access, partitions: int) -> Access | None:
        """A [P, 1] access to fp32."""
        return self.source(target, partitions, 1, ("float32",))
