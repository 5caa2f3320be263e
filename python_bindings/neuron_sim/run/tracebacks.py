"""Short tracebacks: the kernel's line first, then who called it, without the simulator's frames."""

from __future__ import annotations

import re
import sys
import traceback
from types import CodeType, TracebackType

REMARK = "(neuron-sim run --full-traceback shows the frames of the simulator)"


def short(error: BaseException) -> str | None:
    """The traceback of a kernel's error: its sentence, the kernel's line with a caret, and the
    calls outside of this package that led there, the innermost first. None for other errors, and
    for one that another error caused."""
    caused = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if caused is not None or not getattr(error, "_neuron_sim_located", False):
        return None
    lines = traceback.format_exception_only(error)
    callers = _callers(error)
    if callers:
        lines.append("called from\n")
        lines += traceback.format_list(callers[::-1])
    return "".join([*lines, f"{REMARK}\n"])


def _callers(error: BaseException) -> list[traceback.FrameSummary]:
    """Frames outside of this package, outermost first, without the one that a note shows."""
    from neuron_sim.nki.syntax.places import is_internal  # scripts without kernels do without

    steps = traceback.walk_tb(error.__traceback__)
    kept = [(frame, line) for frame, line in steps if not is_internal(frame.f_code)]
    notes = getattr(error, "__notes__", ())
    if kept and any(_is_within(note, kept[-1][0].f_code) for note in notes):
        kept.pop()
    return list(traceback.StackSummary.extract(iter(kept)))


def _is_within(note: str, code: CodeType) -> bool:
    """Whether a note names a line of a function, which may be another one than that where the
    traceback ends: a function does not call its own earlier lines."""
    place = re.match(r'  File "(.*)", line (\d+)(,|\n|$)', note)
    if place is None or place[1] != code.co_filename or code.co_name == "<module>":
        return False
    return int(place[2]) in {line for *_, line in code.co_lines()}


def install() -> None:
    """Shows errors of kernels that end a process in short."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, step: TracebackType | None) -> None:
        told = short(error)
        if told is None:
            before(kind, error, step)
        else:
            sys.stderr.write(told)

    sys.excepthook = hook
