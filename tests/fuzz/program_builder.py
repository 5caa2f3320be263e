"""Builds a listing and the core's program of it side by side: what the builder refuses is in
neither."""

from __future__ import annotations

import random
from typing import Any

from listing import DTYPES, Access, Index, Listing, Operation, Repeat, Step, Storage, view_of
from neuron_sim import _core

REFUSALS = (ValueError, TypeError, IndexError, NotImplementedError)


class Writer:
    """A listing under construction and its builder."""

    def __init__(self, random_: random.Random, architecture: str, placement: str) -> None:
        self.random = random_
        self.listing = Listing(architecture, placement)
        self.builder = _core.Builder("fuzz", architecture, placement)
        self.bases: list[Any] = []
        self.trips: list[int] = []
        self.variables: list[Any] = []
        self.blocks: list[list[Operation | Repeat]] = [self.listing.body]
        self.refused = 0
        self.emitted = 0

    def storage(self, storage: Storage) -> int | None:
        """Its number, or None when the memory has no room for it."""
        shape = list(storage.shape)
        label = f"{storage.memory}{len(self.bases)}"
        try:
            if storage.address is not None:
                base = self.builder.place(
                    storage.memory, label, shape, storage.dtype, storage.address, 0, storage.ring
                )
            elif storage.memory in ("argument", "scratch"):
                base = getattr(self.builder, storage.memory)(label, shape, storage.dtype)
            else:
                base = getattr(self.builder, storage.memory)(
                    label, shape, storage.dtype, storage.ring
                )
        except (ValueError, MemoryError):
            return None
        self.bases.append(base)
        self.listing.storages.append(storage)
        return len(self.bases) - 1

    def emit(self, name: str, accesses: dict[str, Access], **parameters: Any) -> bool:
        """Whether the builder took the instruction."""
        try:
            views = {
                operand: view_of(self.bases[access.storage], access, self.variables)
                for operand, access in accesses.items()
            }
            getattr(self.builder, name)(**views, **parameters)
        except REFUSALS:
            self.refused += 1
            return False
        self.emitted += 1
        self.blocks[-1].append(Operation(name, accesses, parameters))
        return True

    def open_loop(self, trips: int, register: int | None = None) -> None:
        if register is None:
            variable = self.builder.open_loop(trips)
        else:
            variable = self.builder.open_loop_register("sync", register, trips)
        loop = Repeat(trips, [], register)
        self.blocks[-1].append(loop)
        self.blocks.append(loop.body)
        self.trips.append(trips)
        self.variables.append(variable)

    def close_loop(self) -> None:
        self.builder.close_loop()
        self.blocks.pop()
        self.trips.pop()
        self.variables.pop()

    # Accesses

    def start(self, room: int) -> Index:
        """A first element between 0 and room, which may follow the variables of loops."""
        constant, factors = 0, []
        for level, trips in enumerate(self.trips):
            if trips > 1 and room >= trips - 1 and self.random.random() < 0.4:
                factor = self.random.randint(1, min(room // (trips - 1), 7))
                factors.append((level, factor))
                room -= factor * (trips - 1)
        if self.random.random() < 0.5:
            constant = self.random.randint(0, room)
        return Index(constant, tuple(factors))

    def turn(self, storage: Storage) -> Index | None:
        if storage.ring == 1:
            return None
        factors = [
            (level, self.random.randint(1, 2))
            for level in range(len(self.trips))
            if self.random.random() < 0.6
        ]
        return Index(self.random.randint(0, storage.ring), tuple(factors))

    def partitions(self, storage: Storage, count: int) -> Step | None:
        """The step to some of the partitions; engines start at multiples of 32 only."""
        whole = storage.shape[0]
        if whole == count and self.random.random() < 0.9:
            return None
        starts = list(range(0, whole - count + 1, 32)) or [0]
        return Step("slice", (0, Index(self.random.choice(starts)), count, 1))

    def carve(self, number: int, partitions: int, elements: int, reads: bool) -> Access | None:
        """An access to so many partitions and elements per partition of a tile."""
        storage = self.listing.storages[number]
        free = storage.shape[1:]
        total = 1
        for size in free:
            total *= size
        if storage.shape[0] < partitions or total < elements:
            return None
        first = self.partitions(storage, partitions)
        steps = [first] if first else []
        chance = self.random.random()
        if chance < 0.15:
            step = self._pattern(storage, partitions, elements, total, reads)
            return Access(number, self.turn(storage), (step,))
        if reads and chance < 0.25:
            steps.append(Step("slice", (1, self.start(free[0] - 1), 1, 1)))
            steps += [Step("select", (2, self.start(size - 1))) for size in free[1:]]
            steps.append(Step("broadcast", (1, elements)))
            return Access(number, self.turn(storage), tuple(steps))
        sizes = self._sizes(free, elements)
        if sizes is None:
            return None
        for axis, (size, whole) in enumerate(zip(sizes, free, strict=True), start=1):
            if size < whole or self.random.random() < 0.1:
                largest = (whole - 1) // (size - 1) if size > 1 else 1
                stride = self.random.choice([1, 1, self.random.randint(1, max(1, largest))])
                room = whole - 1 - (size - 1) * stride
                steps.append(Step("slice", (axis, self.start(room), size, stride)))
        steps += self._rearranged(sizes)
        return Access(number, self.turn(storage), tuple(steps))

    def _sizes(self, free: tuple[int, ...], elements: int) -> tuple[int, ...] | None:
        if len(free) == 1:
            return (elements,)
        choices = [
            (outer, elements // outer)
            for outer in range(1, min(free[0], elements) + 1)
            if elements % outer == 0 and elements // outer <= free[1]
        ]
        return self.random.choice(choices) if choices else None

    def _rearranged(self, sizes: tuple[int, ...]) -> list[Step]:
        if len(sizes) == 2 and self.random.random() < 0.2:
            return [Step("permute", ((0, 2, 1),))]
        if len(sizes) == 1 and sizes[0] % 2 == 0 and self.random.random() < 0.15:
            return [Step("split", (1, 2, sizes[0] // 2))]
        if self.random.random() < 0.05:
            return [Step("expand", (1,))]
        return []

    def _pattern(
        self, storage: Storage, partitions: int, elements: int, total: int, reads: bool
    ) -> Step:
        inner = self.random.choice([n for n in (1, 2, 3, 4) if elements % n == 0])
        outer = elements // inner
        step = self.random.randint(1, 2)
        room = total - 1 - (inner - 1) * step
        outer_step = (room // (outer - 1)) if outer > 1 else 1
        if not reads and inner * step > outer_step > 0:
            inner, outer, step, outer_step = 1, elements, 1, 1  # elements must not meet
            room = total - 1
        room -= (outer - 1) * outer_step
        across = 0 if reads and self.random.random() < 0.1 else 1
        dimensions = ((across, partitions), (max(outer_step, 0), outer), (step, inner))
        return Step("pattern", (dimensions, self.start(max(room, 0)), Index(0)))

    def itemsize(self, number: int) -> int:
        return DTYPES[self.listing.storages[number].dtype].itemsize
