"""The three moments at which a kernel is judged: before it is traced, when it is, when it runs."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from neuron_sim.settings import legality

from . import front_end, program
from .violations import LegalityError, Violation, holding, settle

_collected: ContextVar[list[Violation] | None] = ContextVar("collected", default=None)


@contextlib.contextmanager
def collecting() -> Iterator[list[Violation]]:
    """Inside, violations are entered in the list that it gives: at no level is one an error."""
    collected: list[Violation] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def judge_source(call: Any) -> None:
    """LegalityError for what the front end of the new language refuses, where the level does."""
    _judge(call, call.generation, lambda: front_end.violations(call.function))


def judge_program(call: Any, trace: Any, source: Any, returned: set[int]) -> None:
    """The same for the program that a kernel was traced to. `returned`: numbers of arguments."""
    _judge(call, source.generation, lambda: program.violations(call, trace, source, returned))


def judge_array(kernel: Any, name: str, array: Any, converted: np.ndarray) -> None:
    """The same for an array of 64-bit integers and what reaches the chip of it."""

    def violations() -> Iterable[Violation]:
        given = np.asarray(array)
        changed = np.nonzero(given != converted)
        if len(changed[0]):
            place = tuple(int(axis[0]) for axis in changed)
            detail = f"'{name}'{list(place)} is {given[place]} and arrives as {converted[place]}"
            yield Violation("VA-INT64", "", detail)

    if str(array.dtype).rpartition(".")[2] in ("int64", "uint64"):
        try:
            _judge(kernel, kernel.source.generation, violations)
        except LegalityError as error:
            error._neuron_sim_located = True  # type: ignore[attr-defined] # at the script's line
            raise


def _judge(kernel: Any, generation: int, violations: Callable[[], Iterable[Violation]]) -> None:
    where, collected = (kernel.language, generation), _collected.get()
    if collected is not None:
        collected += holding(violations(), where)
    elif (wanted := legality()) != "off":
        settle(kernel.name, holding(violations(), where), wanted)
