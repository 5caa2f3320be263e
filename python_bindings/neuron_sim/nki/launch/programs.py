"""The programs of a grid side by side, for kernels in which they wait for each other.

Every program is traced on its own thread, one at a time: the first to its next meeting or its
end, then the second, and so on. All of them become one program for the device, in which what comes
before a meeting in any of them comes before what is after it.
"""

import ctypes
import itertools
import threading

from ..tracing.active import current
from ..tracing.errors import Retrace, Unroll
from ..tracing.expression import Expression

_PATIENCE = 0.1  # seconds until a thread that should end is interrupted


class ProgramId(int):
    """The position of a program in dimension `axis` of the grid."""

    axis: int

    def __new__(cls, value: int, axis: int):
        result = super().__new__(cls, value)
        result.axis = axis
        return result


class _Abandoned(BaseException):
    """Ends the thread of a program when another one has failed."""


class _Program:
    """One program: its thread runs while `may_run` is released."""

    def __init__(self, ids: tuple):
        self.ids = ids
        self.may_run = threading.Semaphore(0)
        self.thread: threading.Thread | None = None
        self.ended = False
        self.meeting: tuple | None = None  # (name, axes) it waits at
        self.brought = None  # what it brings there
        self.found: list = []  # what all of its group brought, in the order of the grid
        self.result = None
        self.error: BaseException | None = None


class Programs:
    """All programs of a grid during a trace."""

    def __init__(self, trace, grid: tuple):
        self._trace = trace
        self._programs = [
            _Program(tuple([ProgramId(value, axis) for axis, value in enumerate(ids)]))
            for ids in itertools.product(*[range(size) for size in grid])
        ]
        self._stopped = threading.Semaphore(0)
        self._abandoned = False
        self._current = self._programs[0]
        self._claim = trace.claims.iterations("instance", "")

    def run(self, function, args, kwargs):
        """The last program's result. RuntimeError when they deadlock."""
        for program in self._programs:
            program.thread = threading.Thread(
                target=self._body, args=(program, function, args, kwargs), daemon=True
            )
            program.thread.start()
        try:
            while not all(program.ended for program in self._programs):
                for program in self._programs:
                    if not program.ended and program.meeting is None:
                        self._resume(program)
                self._match()
        finally:
            self._abandon()
        return self._programs[-1].result

    def meet(self, name: str, axes: tuple, brought) -> list:
        """Waits for the programs along `axes`; returns what each of them brought, in order."""
        trace, program = self._trace, self._current
        program.meeting, program.brought = (name, axes), brought
        kept = trace.next_hbm, list(trace.open_scopes)
        self._stopped.release()
        program.may_run.acquire()
        if self._abandoned:
            raise _Abandoned
        trace.next_hbm, trace.open_scopes = kept
        trace.program_ids = program.ids
        return program.found

    def _body(self, program: _Program, function, args, kwargs) -> None:
        program.may_run.acquire()
        try:
            if not self._abandoned:
                self._trace.program_ids = program.ids
                self._trace.next_hbm = 0
                self._trace.open_scopes = [0]
                program.result = function(*args, **kwargs)
                self._trace.settle()
        except BaseException as error:
            program.error = error
        program.ended = True
        self._stopped.release()

    def _resume(self, program: _Program) -> None:
        self._current = program
        first = self._trace._builder.instruction_count
        program.may_run.release()
        self._stopped.acquire()
        end = self._trace._builder.instruction_count
        self._claim.add(first, end, self._programs.index(program))
        if program.error is not None:
            raise program.error

    def _match(self) -> None:
        """Resumes the groups whose programs have all arrived."""
        waiting = [program for program in self._programs if program.meeting is not None]
        goes_on = False
        for program in waiting:
            if program.meeting is None:  # resumed with an earlier one
                continue
            axes = program.meeting[1]
            group = [
                each for each in self._programs if _outside(each, axes) == _outside(program, axes)
            ]
            if any(each.meeting != program.meeting for each in group):
                continue
            found = [each.brought for each in group]
            for each in group:
                each.meeting, each.found = None, found
            goes_on = True
        if goes_on:  # a meeting orders what is before it before what is after it
            self._claim = self._trace.claims.iterations("instance", "")
        if waiting and not goes_on:
            name, axes = waiting[0].meeting  # type: ignore[misc]
            raise RuntimeError(
                f"kernel '{self._trace.name}' deadlocks: program {_numbers(waiting[0].ids)} waits "
                f"at '{name}' over axes {list(axes)} of the grid for programs that do not come."
            )

    def _abandon(self) -> None:
        """Ends all threads."""
        self._abandoned = True
        for program in self._programs:
            if program.thread is not None and program.thread.is_alive():
                program.may_run.release()
                _end(program.thread)


def _end(thread: threading.Thread) -> None:
    """Waits for a resumed thread; one that still computes, because the caller was interrupted,
    gets an exception."""
    thread.join(_PATIENCE)
    while thread.is_alive():
        ident = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(_Abandoned))
        thread.join(_PATIENCE)


def _outside(program: _Program, axes: tuple) -> tuple:
    """The position in the other dimensions of the grid."""
    return tuple([each for axis, each in enumerate(program.ids) if axis not in axes])


def _numbers(ids: tuple) -> list:
    return [int(each) for each in ids]


def meet(name: str, program_axes, brought) -> list | None:
    """The values that programs along `program_axes` bring to a meeting; None if there is only one.

    program_axes: program ids (nl.program_id(axis)) or numbers of dimensions of the grid.
    ValueError for anything else. The kernel is traced again where programs or loops have to be side
    by side.
    """
    trace = current()
    listed = program_axes if isinstance(program_axes, (list, tuple)) else (program_axes,)
    if all(size == 1 for size in trace.grid):
        return None
    axes = tuple(sorted({_axis_of(name, each, trace) for each in listed}))
    if all(trace.grid[axis] == 1 for axis in axes):
        return None
    if trace.programs is None:
        raise Retrace("programs")
    if trace.loops:
        raise Unroll([loop.key for loop in trace.loops])
    return trace.programs.meet(name, axes, brought())


def _axis_of(name: str, value, trace) -> int:
    if isinstance(value, ProgramId):
        return value.axis
    if isinstance(value, Expression):
        loops = list(value.terms)
        if len(loops) == 1 and loops[0].kind == "program":
            return loops[0].key[1]
    elif isinstance(value, int):
        if trace.programs is None:
            raise Retrace("programs")  # where program ids are distinguishable from numbers
        if 0 <= value < len(trace.grid):
            return value
    raise ValueError(
        f"program_axes of {name} must be program_id! Consider use loop_reduce or reduce instead."
    )
