"""Which loops and grids of a kernel claim that their iterations need no order.

The sanitizer looks for accesses of two iterations to the same bytes. Only the old language claims:
the loops of the new one are ordered. An entry is (kind, first, end, level, group, iteration, line)
with kind "loop" (affine_range) or "instance" (of a grid), the numbers of the first instruction and
of the one after the last, and the line of the loop. One of a loop of the program has its `level`
among those; one of an unrolled iteration has level -1, and a `group` that it shares with the other
iterations of one execution of its loop.
"""

from dataclasses import dataclass
from typing import Any

_KINDS = {"affine": "loop", "program": "instance"}


class Claims:
    """The claims of a trace: `entries`.

    `asks_for_instance`: the kernel asked for its place in the grid. Instances that do not are all
    the same, and write the same values. `private`: labels of tensors in HBM that a loop's body
    makes, of which every iteration has its own.
    """

    def __init__(self, builder: Any):
        self.asks_for_instance = False
        self.private: set[str] = set()
        self._entries: list[tuple] = []
        self._builder = builder
        self._open: list[tuple] = []  # (first instruction, level, line) of the program's loops
        self._groups = 0

    @property
    def entries(self) -> list[tuple]:
        """The checker's input."""
        if self.asks_for_instance:
            return self._entries
        return [each for each in self._entries if each[0] != "instance"]

    @property
    def instruction_count(self) -> int:
        """Of the trace so far."""
        return self._builder.instruction_count

    def add(self, entry: tuple) -> None:
        """Adds an entry."""
        self._entries.append(entry)

    def open_loop(self, level: int, line: str) -> None:
        """A loop of the program was opened."""
        self._open.append((self.instruction_count, level, line))

    def close_loop(self, kind: str) -> None:
        """The innermost loop ends; `kind` is that of expression.Loop."""
        first, level, line = self._open.pop()
        if kind in _KINDS:
            self.add((_KINDS[kind], first, self.instruction_count, level, -1, -1, line))

    def iterations(self, kind: str, line: str) -> "Iterations":
        """One execution of an unrolled loop begins."""
        self._groups += 1
        return Iterations(self, kind, self._groups, line, self.instruction_count)


@dataclass(slots=True)
class Iterations:
    """The iterations of one execution of an unrolled loop."""

    claims: Claims
    kind: str
    group: int
    line: str
    first: int  # instruction of the current one
    number: int = 0

    def next(self) -> None:
        """An iteration ends, and with it what it emitted."""
        end = self.claims.instruction_count
        self.add(self.first, end, self.number)
        self.first, self.number = end, self.number + 1

    def add(self, first: int, end: int, number: int) -> None:
        """Iteration `number` emitted instructions [first, end)."""
        if end > first:
            self.claims.add((self.kind, first, end, -1, self.group, number, self.line))
