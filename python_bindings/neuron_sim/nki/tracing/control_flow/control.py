"""Control flow that a kernel leaves to the chip: registers, loops on them, order of instructions.

A loop on a register is traced once, as a loop of the program that reads the register when the
kernel runs. Instructions have numbers, between which the kernel may ask for an order.
"""

from dataclasses import dataclass
from typing import Any

from ...syntax.places import point_at_line
from ..eager import refusal
from .registers import VirtualRegister

SCRATCH = 4  # registers for addresses out of tiles: more than an instruction has


@dataclass(slots=True, eq=False)
class RegisterLoop:
    """An open loop: its register, and its name in messages.

    `place`: of a `while` statement its frame and position; None for loops that a function opened.
    """

    register: VirtualRegister
    line: str
    place: Any
    nest: int


class Control:
    """The registers, register loops and scheduling edges of one core in a trace."""

    def __init__(self, trace: Any):
        self.trace = trace
        self.loops: list[RegisterLoop] = []
        self.ordered = 0  # open no_reorder blocks
        self.named: dict[str, list[int]] = {}  # numbers of the instructions of a name
        self._free: list[int] = []
        self._waiting: list[tuple[int, int]] = []  # (nest, number) not free before its nest is
        self._scratch: list[int] = []
        self._next_scratch = 0
        self._next_nest = 1

    # --- registers -----------------------------------------------------------------------------

    def new_register(self) -> VirtualRegister:
        """A register that nothing else uses; its value is unknown. ValueError in a run that is
        eager."""
        if self.trace.eager is not None:
            raise refusal(self.trace.name, "uses registers")
        number = self._free.pop() if self._free else self.trace._builder.allocate_register()
        return VirtualRegister(number, self, self._nest())

    def _nest(self) -> int:
        return self.loops[-1].nest if self.loops else 0

    def release(self, number: int, nest: int) -> None:
        """Nothing names a register any more. In a loop inside the one where it was taken, the
        next iteration may still read it: there it waits for the end of that loop."""
        if nest != self._nest() and (nest == 0 or any(loop.nest == nest for loop in self.loops)):
            self._waiting.append((nest, number))
        else:
            self._free.append(number)

    def scratch_register(self) -> int:
        """A register for the address of the next instruction; ValueError as new_register()."""
        if self.trace.eager is not None:
            raise refusal(self.trace.name, "reads an address from a tile")
        if len(self._scratch) < SCRATCH:
            self._scratch.append(self.trace._builder.allocate_register())
        self._next_scratch = (self._next_scratch + 1) % len(self._scratch)
        return self._scratch[self._next_scratch]

    # --- loops ---------------------------------------------------------------------------------

    def check_order(self, what: str) -> None:
        """Loops on chip may enclose blocks of a fixed order, not be inside them."""
        if self.ordered:
            raise ValueError(
                f"{what} is not supported inside a no_reorder block; put the no_reorder block "
                "into the loop."
            )

    def open_range(self, start: Any, stop: Any, step: int, is_frozen: bool) -> RegisterLoop:
        """A loop of range(start, stop, step) whose bounds may be registers."""
        trace = self.trace
        register = self.new_register()
        register.is_frozen = is_frozen
        bounds: dict = {"step": step}
        for name, bound in (("start", start), ("stop", stop)):
            if isinstance(bound, VirtualRegister):
                bounds[f"{name}_register"] = bound.index
                bounds[name] = 0
            else:
                bounds[name] = number_of(bound)
        trace.builder.open_range(register.index, **bounds)
        return self._opened(register, None)

    def open_while(self, register: VirtualRegister, place: Any) -> RegisterLoop:
        """A loop that runs while a register is not zero."""
        self.trace.builder.open_while(register.index)
        return self._opened(register, place)

    def _opened(self, register: VirtualRegister, place: Any) -> RegisterLoop:
        loop = RegisterLoop(register, self.trace._line, place, self._next_nest)
        self._next_nest += 1
        self.loops.append(loop)
        self.trace.open_scope()
        return loop

    def close(self, loop: RegisterLoop) -> None:
        """The end of the innermost loop's body."""
        if self.loops[-1] is not loop:
            raise self.left_early(self.loops[-1])
        self.trace.close_scope()
        self.trace._builder.close_loop()
        self.loops.pop()
        nest = self._nest()
        self._free += [number for where, number in self._waiting if where == nest]
        self._waiting = [each for each in self._waiting if each[0] != nest]

    def leave(self, loop: RegisterLoop) -> None:
        """A loop's iterator was dropped by `break` or `return`: an error of the kernel."""
        self.trace._failed = self.trace._failed or self.left_early(loop)
        while self.loops and loop in self.loops:
            self.close(self.loops[-1])

    @staticmethod
    def left_early(loop: RegisterLoop) -> ValueError:
        """A loop on chip has one exit."""
        error = ValueError(
            "a loop on chip ends by its bound or condition only: `break`, `return` and exceptions "
            "cannot leave it."
        )
        point_at_line(error, loop.line)
        return error

    # --- order of instructions -----------------------------------------------------------------

    def schedule(self, edges: Any) -> None:
        """The edges of Kernel.with_schedule: (consumer, producer or producers), by name."""
        for consumer, producers in edges:
            for producer in (producers,) if isinstance(producers, str) else producers:
                for first in self._numbers(producer):
                    for second in self._numbers(consumer):
                        self.trace._builder.add_edge(second, first)

    def _numbers(self, name: str) -> list[int]:
        found = self.named.get(name)
        if found is None:
            names = ", ".join(self.named) or "none"
            raise ValueError(
                f"with_schedule: kernel '{self.trace.name}' has no instruction named '{name}'; "
                f"its instructions with a name: {names}."
            )
        return found


def number_of(value: Any) -> int:
    """An int; of an index expression its value, for which its loop is unrolled."""
    return value.__index__()
