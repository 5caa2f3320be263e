"""Short tracebacks: the kernel's line first, then who called it, without the simulator's frames."""

from __future__ import annotations

import re
import sys
import traceback
from types import TracebackType

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
    from neuron_sim.nki.tracing.errors import is_internal  # scripts without kernels do without

    steps = traceback.walk_tb(error.__traceback__)
    kept = [(frame, line) for frame, line in steps if not is_internal(frame.f_code)]
    frames = list(traceback.StackSummary.extract(iter(kept)))
    notes = getattr(error, "__notes__", ())
    if frames and any(_shows(note, frames[-1]) for note in notes):
        frames.pop()
    return frames


def _shows(note: str, frame: traceback.FrameSummary) -> bool:
    place = f'  File "{frame.filename}", line {frame.lineno}'
    return re.match(re.escape(place) + r"(,|\n|$)", note) is not None


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
