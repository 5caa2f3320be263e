"""Whether a replayed Program waits for everything that the real instructions waited for.

The compiler's semaphores order more than the bytes require: an engine counts its completions, and
a wait for the fourth is a wait for the first three. So a real wait is implied when its producer has
completed before its consumer starts in every execution of the Program, which follows from the
builder's dependencies and the engine order: instructions of one engine start in order, those of a
computing engine complete in order, a DMA transfer starts with its trigger and completes by itself.
"""

from __future__ import annotations

from neuron_sim.fidelity.replay.program import Replay
from neuron_sim.fidelity.replay.stream import SemaphoreWait, semaphore_waits


def completed_before(replay: Replay) -> list[int]:
    """Per instruction of the Program the set of those that complete before it starts, in every
    execution: bit i stands for instruction i."""
    before_start: list[int] = []
    before_end: list[int] = []  # completes no later than it
    last_of_engine: dict[str, int] = {}
    last_computing: dict[str, int] = {}
    for index, producers in enumerate(replay.program.dependencies()):
        engine = replay.steps[index].head.engine
        started = 0
        for producer in producers:
            started |= before_end[producer] | 1 << producer
        if engine in last_of_engine:
            started |= before_start[last_of_engine[engine]]
        last_of_engine[engine] = index
        ended = started
        if replay.steps[index].head.opcode != "DMA_DIRECT2D":
            if engine in last_computing:
                previous = last_computing[engine]
                ended |= before_end[previous] | 1 << previous
            last_computing[engine] = index
        before_start.append(started)
        before_end.append(ended)
    return before_start


def unordered_waits(replay: Replay) -> list[SemaphoreWait]:
    """The waits of the profile that the Program does not imply, in its order."""
    index_of = {row.row: index for index, step in enumerate(replay.steps) for row in step.rows}
    before = completed_before(replay)
    result = []
    for wait in semaphore_waits(replay.trace, replay.stream):
        consumer, producer = index_of[wait.consumer.row], index_of[wait.producer.row]
        if not before[consumer] >> producer & 1:
            result.append(wait)
    return result
