"""Python values that a loop's body changes from one iteration to the next.

A counted loop is traced once, so that such a value would keep its first iteration's value in all of
them. The loop is unrolled instead, and a warning says what the vendor's compiler does.
"""

from types import FrameType
from typing import Any

from ...syntax.loops import handed_on
from ...syntax.places import warn_at
from ..tensor import Tensor
from .python_state import PLAIN, contents

_ABSENT = object()


class HandedOn:
    """What the variables of a frame hold that a loop's body may hand to its next iteration."""

    __slots__ = ("_frame", "_held", "_storages")

    def __init__(self, frame: FrameType | None) -> None:
        """`frame`: the one that the loop is in, where it asks for the first iteration."""
        self._frame = frame
        self._held: dict[str, Any] = {}
        self._storages: dict[str, Any] = {}
        if frame is None:
            return
        code, outer = frame.f_code, frame.f_globals
        names = handed_on(code, frame.f_lasti)
        if names is None:  # all that have a value
            names = (*frame.f_locals, *(each for each in code.co_names if each in outer))
        values = frame.f_locals if names else {}
        # Objects and functions from outside the kernel may hold state that it does not use.
        own = (*code.co_varnames, *code.co_cellvars) if names else ()
        for name in names:
            value = values[name] if name in values else outer.get(name, _ABSENT)
            if type(value) is Tensor:
                self._storages[name] = value.storage
            elif name in own or type(value) in PLAIN or type(value) in (list, dict):
                held = contents(value)
                if held is not None:
                    self._held[name] = held

    def changed(self) -> str:
        """The first variable that the body has changed; "" when there is none."""
        if self._frame is None or not (self._held or self._storages):
            return ""
        now, outer = self._frame.f_locals, self._frame.f_globals
        for name, held in self._held.items():
            value = now[name] if name in now else outer.get(name, _ABSENT)
            if value is not _ABSENT and contents(value) != held:
                return name
        for name, storage in self._storages.items():
            value = now.get(name)
            if type(value) is Tensor and value.storage is not storage:
                # A tile of before the loop under another name; a new one is not handed on.
                known = value.storage is not None
                if known and any(value.storage is each for each in self._storages.values()):
                    return name
        return ""


def warn(frame: FrameType, name: str) -> None:
    """Warns that the vendor's compiler would see only one value."""
    warn_at(
        frame,
        f"'{name}' changes from one iteration of a loop to the next, and the loop is unrolled for "
        "it; the vendor's compiler traces the body once, with the first value in all iterations: "
        "use the loop's variable, or nl.static_range.",
    )
