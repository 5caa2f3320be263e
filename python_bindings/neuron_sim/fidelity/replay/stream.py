"""The kernel's own instructions in a profile, and what they wait for.

A profile begins and ends with instructions of the runtime. Those of the kernel are the ones that
compute or move data, load a function table, or wait for a semaphore of an engine or a DMA queue:
the profiler prints the name of such a semaphore, while the runtime's are plain registers (`$S[2]`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from neuron_sim.fidelity.replay.operands import Operands
from neuron_sim.fidelity.replay.reader import Trace, TraceInstruction

KERNEL_OPCODES = frozenset(
    "LDWEIGHTS MATMUL ACTIVATE ACT_TABLE_LOAD COPY CAST TENSOR_REDUCE RECIPROCAL TENSOR_SCALAR "
    "DMA_DIRECT2D".split()
)
WAIT_OPCODES = frozenset(("EVENT_SEMAPHORE", "NOP"))
"""They do nothing but wait."""

ENGINES = {
    "Sync": "sync",
    "Scalar": "scalar",
    "Vector": "vector",
    "GpSimd": "gpsimd",
    "Tensor": "tensor",
    "TensorMatrix": "tensor",
}
"""Queues of instructions as the profiler names them, and the engines that execute them."""


@dataclass(frozen=True)
class KernelInstruction:
    """One instruction of the kernel."""

    row: TraceInstruction
    operands: Operands

    @property
    def opcode(self) -> str:
        return self.row.opcode

    @property
    def waits_only(self) -> bool:
        return self.row.opcode in WAIT_OPCODES

    @property
    def engine(self) -> str:
        return ENGINES[self.row.engine]

    @cached_property
    def where(self) -> str:
        """For messages."""
        return f"'{self.row.opcode}' (line {self.row.line})"


@dataclass(frozen=True)
class SemaphoreWait:
    """A wait of the profile: `producer` must have completed before `consumer` starts."""

    consumer: KernelInstruction
    producer: KernelInstruction
    semaphore: int
    value: int


def kernel_instructions(trace: Trace) -> tuple[KernelInstruction, ...]:
    """The kernel's instructions by start. ValueError when there are none, or for one that uses a
    semaphore of the kernel and is of unknown kind."""
    result = []
    for row in trace.instructions:
        operands = Operands(row.operands)
        named = operands.waits or operands.increments
        if row.opcode not in KERNEL_OPCODES and not named:
            continue
        if row.opcode not in KERNEL_OPCODES | WAIT_OPCODES or row.engine not in ENGINES:
            raise ValueError(
                f"trace '{trace.name}', line {row.line}: instruction '{row.opcode}' of engine "
                f"'{row.engine}' cannot be replayed."
            )
        result.append(KernelInstruction(row, operands))
    if not result:
        raise ValueError(f"trace '{trace.name}' has no instruction of a kernel.")
    return tuple(result)


def _waiting(stream: tuple[KernelInstruction, ...]) -> Iterator[tuple[KernelInstruction, int, int]]:
    """(consumer, semaphore, value). An instruction that does nothing but wait belongs to the next
    one in the program of its engine; after the last one it waits for the end of the kernel."""
    pending: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for instruction in sorted(stream, key=lambda i: (i.engine, i.row.pc)):
        waits = [(wait.semaphore, wait.value) for wait in instruction.operands.waits]
        if instruction.waits_only:
            pending[instruction.engine] += waits
            continue
        for semaphore, value in pending.pop(instruction.engine, []) + waits:
            yield instruction, semaphore, value


def semaphore_waits(trace: Trace, stream: tuple[KernelInstruction, ...]) -> list[SemaphoreWait]:
    """All waits with the instruction whose completion they wait for: increments of a semaphore are
    counted in profile order, which is the order of its only producer."""
    producers: dict[int, list[KernelInstruction]] = defaultdict(list)
    for instruction in stream:
        if instruction.opcode == "DMA_DIRECT2D":
            count = instruction.operands.number("sem_increment")
            producers[instruction.operands.number("semaphore")] += [instruction] * count
        for semaphore in instruction.operands.increments:
            producers[semaphore].append(instruction)
    result = []
    for consumer, semaphore, value in _waiting(stream):
        counted = producers[semaphore]
        if len(counted) < value:
            raise ValueError(
                f"trace '{trace.name}': {consumer.where} waits for S[{semaphore}] >= {value}, "
                f"which {len(counted)} completions increment."
            )
        result.append(SemaphoreWait(consumer, counted[value - 1], semaphore, value))
    return result
