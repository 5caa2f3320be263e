"""What Python values hold, in a form that shows whether a loop's body changed it.

Tensors, index expressions and whatever else this package makes do not count: iterations hand those
on through memory.
"""

import contextlib
import enum
import functools
import types
from collections import deque
from typing import Any

import numpy as np

from ...syntax.places import is_internal
from ...syntax.scopes import assigned_globals

PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))
_SEQUENCES = frozenset((list, tuple, set, frozenset, deque))
_made_iterators: list[Any] = [
    *(iter([]), iter(()), iter(range(0)), iter({}), iter({}.values()), iter({}.items())),
    *(iter(""), iter(set()), reversed([]), enumerate([]), zip(), map(abs, [])),
]
_ITERATORS = frozenset(type(each) for each in _made_iterators)
_WITHOUT_STATE = (types.ModuleType, types.BuiltinFunctionType, type, np.ufunc)
_MOST_VALUES = 300  # of one variable that are compared
_MOST_BYTES = 4000  # of an array that are compared


def contents(value: Any) -> Any:
    """What `value` holds, to be compared with ==; None when it has no state that counts."""
    kind = type(value)
    if kind in PLAIN:
        return (kind, value)
    if kind in _WITHOUT_STATE:
        return None
    return _Walk().of(value)


def _attributes(kind: type, value: Any) -> dict[str, Any]:
    """What an object holds by name, without running code of its class."""
    held: dict[str, Any] = {}
    for each in kind.__mro__:
        for name, member in vars(each).items():
            if type(member) is types.MemberDescriptorType:
                with contextlib.suppress(AttributeError):  # a slot without a value
                    held[name] = member.__get__(value)
    with contextlib.suppress(AttributeError):
        held.update(object.__getattribute__(value, "__dict__"))
    return held


class _Walk:
    """One walk through the values that a variable reaches."""

    __slots__ = ("left", "seen")

    def __init__(self) -> None:
        self.left = _MOST_VALUES
        self.seen: set[int] = set()

    def of(self, value: Any) -> Any:
        kind = type(value)
        if kind in PLAIN:
            return (kind, value)
        if str(kind.__module__).startswith("neuron_sim") or issubclass(kind, _WITHOUT_STATE):
            return None
        if issubclass(kind, enum.Enum):
            return (kind, id(value))
        if issubclass(kind, np.generic):
            return (kind, value.tobytes())
        self.left -= 1
        if self.left < 0 or id(value) in self.seen:
            return None
        self.seen.add(id(value))
        if kind in _SEQUENCES:
            parts = [self.of(each) for each in value]
            held = [each for each in parts if each is not None]
            return (kind, frozenset(held) if kind in (set, frozenset) else tuple(held))
        return self._of_other(kind, value)

    def _of_other(self, kind: type, value: Any) -> Any:
        if kind is dict:
            return self._of_names(value)
        if kind is types.FunctionType:
            return self._of_function(value)
        if issubclass(kind, np.ndarray):
            return (value.dtype.str, value.tobytes()) if value.nbytes <= _MOST_BYTES else None
        if kind is types.MethodType:
            return (self.of(value.__self__), self.of(value.__func__))
        if kind is functools.partial:
            return (self.of(value.func), self.of(value.args), self.of(value.keywords))
        if kind is types.GeneratorType:
            frame = value.gi_frame
            return frame and (frame.f_lasti, self._of_names(frame.f_locals))
        if kind in _ITERATORS:
            return (kind, self.of(value.__reduce__()[1:]))
        if "__module__" in vars(kind):  # a class that Python code defines
            return (kind, self._of_names(_attributes(kind, value)))
        return (kind, id(value))

    def _of_names(self, values: dict) -> tuple:
        held = [(key, self.of(each)) for key, each in values.items() if type(key) in PLAIN]
        return tuple([(key, each) for key, each in held if each is not None])

    def _of_function(self, function: types.FunctionType) -> tuple | None:
        """The variables around a function that it may change, and its attributes."""
        if is_internal(function.__code__):
            return None
        code, outer = function.__code__, function.__globals__
        held: list = [self._of_names(vars(function))] if vars(function) else []
        held += [self.of(outer[name]) for name in assigned_globals(code) if name in outer]
        for cell in function.__closure__ or ():
            try:
                held.append(self.of(cell.cell_contents))
            except ValueError:  # an empty cell
                held.append(None)
        return tuple(held) if any(held) else None
