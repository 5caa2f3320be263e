"""Arguments of the wrong type: a TypeError that names them, for every function of both languages.

Nothing is checked before a function runs; this reads the error of one that failed.
"""

import inspect
from types import FrameType, ModuleType
from typing import Any

from ..syntax.places import first_internal_frame, internal_frames

_OF_TENSORS = frozenset(
    ("access", "axis", "buffer", "dtype", "memory", "ndim", "settle", "shape", "steps", "storage")
)
_BINDING = "incompatible function arguments"
_LONGEST = 40  # characters of a value in a message


def named(error: Exception) -> Exception:
    """The error unchanged, or a TypeError or ValueError about what the kernel passed to a function
    of this package."""
    frame = first_internal_frame(error.__traceback__)
    if frame is None:
        return error
    function = frame.f_code.co_name
    if isinstance(error, ZeroDivisionError):
        told = ValueError(f"'{function}': a size or a divisor is 0.")
        return told.with_traceback(error.__traceback__)
    if isinstance(error, OverflowError):
        told = ValueError(f"'{function}': a number is too large ({error}).")
        return told.with_traceback(error.__traceback__)
    if isinstance(error, AttributeError):
        sentence = _without_attribute(error)
    elif isinstance(error, TypeError) and _BINDING in str(error):
        sentence = _of_binding(frame)
    else:
        sentence = ""
    return TypeError(sentence).with_traceback(error.__traceback__) if sentence else error


def _without_attribute(error: AttributeError) -> str:
    """'tensor_copy': argument 'src' is 5, of type int, not a tensor.

    The function is the outermost one that has the value as an argument: what the older language
    emits later, for an assignment, is called without the kernel's arguments."""
    given = error.obj
    if error.name is None or isinstance(given, ModuleType):  # a symbol that is missing
        return ""
    wanted = "a tensor" if error.name in _OF_TENSORS else f"what has '{error.name}'"
    given_is = f"is {_short(given)}, of type {type(given).__name__}, not {wanted}."
    frames = list(internal_frames(error.__traceback__))
    if given is None and frames:  # which several arguments may be
        return f"{_of_binding(frames[0])[:-1]}; an operand {given_is}"
    for frame in frames:
        for name, value in _arguments(frame):
            inside = value if isinstance(value, (list, tuple)) else ()
            if value is not given and not any(each is given for each in inside):
                continue
            where = f"argument '{name}'" if value is given else f"an element of argument '{name}'"
            return f"'{frame.f_code.co_name}': {where} {given_is}"
    if not frames or type(given).__module__.startswith("neuron_sim."):
        return ""
    return f"'{frames[0].f_code.co_name}': an operand {given_is}"


def _of_binding(frame: FrameType) -> str:
    types = [
        f"'{name}' is a {type(value).__name__}"
        for name, value in _arguments(frame)
        if value is not None
    ]
    listed = ", ".join(types) or "there are none"
    return f"'{frame.f_code.co_name}' does not take arguments of these types: {listed}."


def _arguments(frame: FrameType) -> list[tuple[str, Any]]:
    """Names and values of the parameters, with each of `*args` and `**kwargs`."""
    names, positional, keywords, values = inspect.getargvalues(frame)
    found = [(name, values[name]) for name in names if name in values]
    code = frame.f_code
    only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    found += [(name, values[name]) for name in only if name in values and name not in names]
    if positional is not None and positional in values:
        found += [(f"{positional}[{i}]", each) for i, each in enumerate(values[positional])]
    if keywords is not None and keywords in values:
        found += list(values[keywords].items())
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
