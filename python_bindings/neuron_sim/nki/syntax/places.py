"""Places in a kernel: what its lines assign to, and errors and warnings that point at them."""

import ast
import functools
import inspect
import linecache
import os
import re
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar

from neuron_sim import _core

from .source import position_of, syntax_at

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_assignment = re.compile(r"\s*(\w+)\s*(?::\s*([^=]*?)\s*)?=[^=]")
_position = re.compile(r"\n  at [^\n]*:\d+$")
_KERNELS = os.path.join(_PACKAGE, "neuronxcc", "nki", "kernels") + os.sep
kernel_frame = _core.kernel_frame
place_of = _core.place_of
"""place_at() of a frame, made once: the same object for the same step of a code."""


def line_of(frame: FrameType) -> str:
    """`file:line` that a frame is at."""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def place_at(frame: FrameType) -> tuple[str, str, str, CodeType, int]:
    """(file:line, name that it assigns to, text of the name's annotation, code, step) of a frame.

    Empty texts when there is no assignment.
    """
    code, number = frame.f_code, frame.f_lineno
    match = _assignment.match(linecache.getline(code.co_filename, number, frame.f_globals))
    name, annotation = (match[1], match[2] or "") if match else ("", "")
    return line_of(frame), name, annotation, code, frame.f_lasti


def stored_name(frame: FrameType) -> str:
    """The variable that the value of the frame's current expression is stored in; "" for none."""
    syntax, node = syntax_at(frame)
    if syntax is None or node is None:
        return ""
    target = getattr(node, "target", None) if isinstance(node, ast.AugAssign) else None
    parent = syntax.parent(node)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and parent.value is node:
        target = parent.targets[0]
    elif isinstance(parent, ast.AnnAssign) and parent.value is node:
        target = parent.target
    return target.id if isinstance(target, ast.Name) else ""


def warn_at(frame: FrameType, text: str, line: int = 0) -> None:
    """A UserWarning about a line of a frame's code, the present one by default."""
    warnings.warn_explicit(
        text,
        UserWarning,
        frame.f_code.co_filename,
        line or frame.f_lineno,
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def is_internal(code: CodeType) -> bool:
    """Whether code belongs to this package, not to a kernel."""
    return _is_ours(code.co_filename)


@functools.cache
def _is_ours(file: str) -> bool:
    path = os.path.abspath(file)
    return path.startswith(_PACKAGE + os.sep) and not path.startswith(_KERNELS)


def _kernel_steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """Those outside of this package, outermost first."""
    while traceback is not None:
        if not is_internal(traceback.tb_frame.f_code):
            yield traceback
        traceback = traceback.tb_next


def _innermost_kernel_step(traceback: TracebackType | None) -> TracebackType | None:
    return next(iter([*_kernel_steps(traceback)][-1:]), None)


def first_internal_frame(traceback: TracebackType | None) -> FrameType | None:
    """The frame of the function of this package that the kernel called; None without one."""
    return next(internal_frames(traceback), None)


def internal_frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    """Frames of this package inside the innermost call from the kernel, outermost first."""
    step = _innermost_kernel_step(traceback)
    while step is not None and step.tb_next is not None:
        step = step.tb_next
        yield step.tb_frame


def point_at_kernel(error: BaseException) -> None:
    """Adds the kernel's source line with a caret under what failed, as a note of the error."""
    step = _innermost_kernel_step(error.__traceback__)
    if step is not None:
        frame = step.tb_frame
        point_at_place(error, frame.f_code, step.tb_lineno, step.tb_lasti, frame.f_globals)


def point_at_place(
    error: BaseException, code: CodeType, line: int, step: int, names: dict | None = None
) -> None:
    """Points at the instruction at offset `step` of the bytecode; the first place stays."""
    if getattr(error, "_neuron_sim_located", False):
        return
    note = f'  File "{code.co_filename}", line {line}, in {code.co_name}'
    source = linecache.getline(code.co_filename, line, names)
    if source.strip():
        text = source.strip()
        first, last = _columns(code, line, step, source, len(text))
        _name_function(error, text[first:last], names or {})
        note += f"\n    {text}\n    {' ' * first}{'^' * max(1, last - first)}"
    _locate(error, note)


def _name_function(error: BaseException, call: str, names: dict) -> None:
    """Names the function of the script's language in place of one of NumPy, which takes no tile."""
    name = re.match(r"(?:\w+\.)+(\w+)\(", call)
    if name is None or not (isinstance(error, TypeError) and "support ufuncs" in str(error)):
        return
    for alias, module in names.items():
        if getattr(module, "__name__", "").endswith(".language") and hasattr(module, name[1]):
            use = f"{alias}.{name[1]}"
            error.args = (f"NumPy's {name[1]} does not take a tile: use {use}.",)


def _locate(error: BaseException, note: str) -> None:
    """The note replaces the position at the end of a message of the builder."""
    if error.args and isinstance(error.args[0], str):
        error.args = (_position.sub("", error.args[0]), *error.args[1:])
    error.add_note(note)
    try:
        error._neuron_sim_located = True  # type: ignore[attr-defined]
    except AttributeError:
        pass  # an exception type with slots gets the note again from an outer kernel


def point_at_message(error: BaseException) -> None:
    """Points at the line of the instruction with which the message of a run's error ends."""
    text = error.args[0] if error.args else None
    located = getattr(error, "_neuron_sim_located", False)
    found = _position.search(text) if isinstance(text, str) and not located else None
    if found is not None:
        point_at_line(error, found[0].removeprefix("\n  at "))


def point_at_definition(error: BaseException, function: Any) -> None:
    """Points at the kernel's `def`, for an error of the kernel as a whole."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or getattr(error, "_neuron_sim_located", False):
        return
    line = code.co_firstlineno  # of its first decorator
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    point_at_line(error, f"{code.co_filename}:{line}")


def point_at_line(error: BaseException, line: str) -> None:
    """Points at a line `file:line` of the kernel, all of it underlined."""
    file, _, number = line.rpartition(":")
    if not file:
        return
    note = f'  File "{file}", line {number}'
    text = linecache.getline(file, int(number)).strip()
    if text:
        note += f"\n    {text}\n    {'^' * len(text)}"
    _locate(error, note)


def _columns(code: CodeType, line: int, step: int, source: str, width: int) -> tuple[int, int]:
    """Columns of the failing expression within the stripped source line of `width` characters."""
    first_line, end_line, column, end_column = position_of(code, step)
    if line != first_line or column is None or end_column is None:
        return 0, width
    indent = len(source) - len(source.lstrip())
    text = source.encode()  # positions count bytes
    first = max(0, len(text[:column].decode(errors="ignore")) - indent)
    if end_line != line:
        return first, width
    return first, min(width, len(text[:end_column].decode(errors="ignore")) - indent)


def _kept(traceback: TracebackType | None) -> TracebackType | None:
    """The frames outside of this package."""
    result = None
    for step in reversed([*_kernel_steps(traceback)]):
        result = TracebackType(result, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return result


def _told(error: Exception) -> TracebackType | None:
    """The traceback with which an error leaves an entry."""
    traceback = error.__traceback__
    if not getattr(error, "_neuron_sim_located", False):
        return traceback
    return traceback if _core.setting("NEURON_SIM_FULL_TRACEBACK") == "1" else _kept(traceback)


def entry(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """A function that scripts call: an error with a kernel's line leaves it with the frames of the
    script and of the kernel alone, so that the kernel's line is the innermost one. All frames stay
    where NEURON_SIM_FULL_TRACEBACK is 1."""
    return functools.update_wrapper(_core.Entry(function, _told), function)
