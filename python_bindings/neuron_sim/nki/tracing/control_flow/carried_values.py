"""Python values that a loop's body changes from one iteration to the next.

A counted loop is traced once, so that such a value would keep its first iteration's value in all of
them. The loop is unrolled instead, and a warning says what the vendor's compiler does.
"""

import dis
import warnings
from types import CodeType, FrameType
from typing import Any

from ..tensor import Tensor
from .python_state import PLAIN, contents

_LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_NAME", "LOAD_GLOBAL")
_STORES = ("STORE_FAST", "STORE_DEREF", "STORE_NAME", "STORE_GLOBAL")
_ABSENT = object()
_ADDING = ("append", "extend", "add")
_candidates: dict[tuple[CodeType, int], tuple[str, ...]] = {}


class HandedOn:
    """What the variables of a frame hold that a loop's body may hand to its next iteration."""

    __slots__ = ("_frame", "_held", "_storages")

    def __init__(self, frame: FrameType | None, key: tuple) -> None:
        """`key` is that of loops.loop_position, `frame` the one that the loop is in."""
        code, step = key
        self._frame = frame
        self._held: dict[str, Any] = {}
        self._storages: dict[str, Any] = {}
        if frame is None or frame.f_code is not code:
            return
        names = _candidates.get((code, step))
        if names is None:
            names = _candidates[code, step] = _names_of(code, step)
        values = frame.f_locals if names else {}
        # Objects and functions from outside the kernel may hold state that it does not use.
        own = (*code.co_varnames, *code.co_cellvars) if names else ()
        for name in names:
            value = values[name] if name in values else frame.f_globals.get(name, _ABSENT)
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
    warnings.warn_explicit(
        f"'{name}' changes from one iteration of a loop to the next, and the loop is unrolled for "
        "it; the vendor's compiler traces the body once, with the first value in all iterations: "
        "use the loop's variable, or nl.static_range.",
        UserWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _names_of(code: CodeType, step: int) -> tuple[str, ...]:
    """Variables that the body reads before it assigns to them, not only to change themselves."""
    body = _body_of(code, step)
    loaded_first: dict[str, bool] = {}
    used = set()
    for position, each in enumerate(body):
        if each.opname in _STORES:
            loaded_first.setdefault(each.argval, False)
        elif each.opname in _LOADS:
            loaded_first.setdefault(each.argval, True)
            if not _only_updates(body, position):
                used.add(each.argval)
    return tuple([name for name, first in loaded_first.items() if first and name in used])


def _body_of(code: CodeType, step: int) -> list[dis.Instruction]:
    """The instructions of the body of `for ... in <the call at step>`; none for other loops."""
    steps = [one for one in dis.get_instructions(code) if one.opname != "EXTENDED_ARG"]
    following = [one for one in steps if one.offset > step][:2]  # `step` may be a cache of the call
    if [one.opname for one in following] != ["GET_ITER", "FOR_ITER"]:
        return []
    loop = following[1]
    return [one for one in steps if loop.offset < one.offset < loop.argval]


def _only_updates(body: list[dis.Instruction], position: int) -> bool:
    """Whether a load is that of `x += 1`, or of `x.append(...)`, which nothing in the loop sees."""
    name = body[position].argval
    rest = body[position + 1 : position + 4]
    if rest and rest[0].opname in ("LOAD_METHOD", "LOAD_ATTR"):
        return rest[0].argval in _ADDING
    operations = [each.opname for each in rest]
    return (
        len(rest) == 3
        and operations[0] == "LOAD_CONST"
        and operations[1] == "BINARY_OP"
        and operations[2] in _STORES
        and rest[2].argval == name
    )
