"""Checks of the variable that a kernel assigns a new tensor to."""

from types import FrameType
from typing import Any

from ..syntax.places import stored_name, warn_at


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
        warn_at(
            frame,
            f"shadowing local tensor '{old.dtype} {name}{list(old.shape)}' with a new object, use "
            f"'{name}[...] =' if you want to update the existing object",
        )
