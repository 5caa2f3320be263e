"""The assignment target of a tensor made by a line of a kernel: its name, its annotated shape."""

import ast
import linecache
import re
import warnings
from types import CodeType, FrameType
from typing import Any

from neuron_sim import _core

from ..syntax.source import syntax_at

_line = re.compile(r"\s*(\w+)\s*(?::\s*([^=]*?)\s*)?=[^=]")
place_of = _core.place_of
"""place_at() of a frame, made once: the same object for the same step of a code."""


def place_at(frame: FrameType) -> tuple[str, str, str, CodeType, int]:
    """(file:line, name that it assigns to, text of the name's annotation, code, step) of a frame.

    Empty texts when there is no assignment.
    """
    code, number = frame.f_code, frame.f_lineno
    match = _line.match(linecache.getline(code.co_filename, number, frame.f_globals))
    name, annotation = (match[1], match[2] or "") if match else ("", "")
    return f"{code.co_filename}:{number}", name, annotation, code, frame.f_lasti


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


def check_annotation(frame: FrameType, name: str, annotation: str, shape: tuple) -> None:
    """err_annotation_shape_mismatch: `data: nt.tensor[128, 512] = ...` of another shape."""
    if stored_name(frame) != name:
        return  # an operand of what is assigned
    try:
        declared = eval(annotation, frame.f_globals, frame.f_locals)
    except Exception:
        return  # annotations need not be values
    expected = tuple(getattr(declared, "shape", ())) if isinstance(declared, type) else ()
    if expected and expected != tuple(shape):
        raise ValueError(
            f"shape of `{name}{list(shape)}` does not match the expected shape of {list(expected)}"
        )


def warn_of_shadowing(frame: FrameType, trace: Any) -> None:
    """A new tensor in a loop takes the name of one from outside, which it does not update."""
    name = stored_name(frame)
    old = frame.f_locals.get(name) if name else None
    storage = getattr(old, "storage", None)
    if old is None or storage is None or storage.memory == "hbm" or storage.trace is not trace:
        return
    if storage.scope in trace.scopes and storage.scope != trace.open_scopes[-1]:
        warnings.warn_explicit(
            f"shadowing local tensor '{old.dtype} {name}{list(old.shape)}' with a new object, use "
            f"'{name}[...] =' if you want to update the existing object",
            UserWarning,
            frame.f_code.co_filename,
            frame.f_lineno,
            registry=frame.f_globals.setdefault("__warningregistry__", {}),
        )
