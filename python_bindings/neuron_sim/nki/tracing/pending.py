"""Results of the older language that are not written yet."""

from typing import Any


class Pending:
    """A result whose instruction was not emitted yet."""

    __slots__ = (
        *("trace", "tensor", "emit", "operands", "buffer", "accumulates", "explicit"),
        *("place", "name"),
    )
    trace: Any
    tensor: Any
    emit: Any
    operands: Any
    buffer: Any
    accumulates: bool
    explicit: bool
    place: Any
    name: str
