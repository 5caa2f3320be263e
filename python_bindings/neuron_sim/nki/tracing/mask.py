"""Masks: comparisons of affine index expressions joined with `&`, and the boxes they leave.

A mask is known when the kernel is traced. What it leaves of a tile is a rectangle (a box); a mask
that couples two dimensions leaves one box per position of the first of them.
"""

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from neuron_sim import _core

from ..syntax.places import kernel_frame
from ..syntax.source import syntax_at
from .errors import Unroll
from .expression import Expression


def boxes(mask: Any, shape: tuple) -> list | None:
    """The boxes that a mask, or the truth of a comparison of numbers, leaves of a shape: a
    (start, size) per dimension. None for all of it."""
    return _core.boxes(bool(mask) if isinstance(mask, np.bool_) else mask, shape)


@_core.register_class
class Mask(_core.IndexMask):
    """Mask(conditions): every expression of the tuple is at least 0."""

    __slots__ = ()
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other):
        if isinstance(other, Mask):
            return Mask(self.conditions + other.conditions)
        if isinstance(other, bool):
            return self if other else _NEVER
        return NotImplemented

    __rand__ = __and__

    def __invert__(self):
        if len(self.conditions) != 1:
            raise ValueError("the complement of several conditions is not a mask; write it out.")
        return Mask((self.conditions[0] * -1 + -1,))

    def __or__(self, other):
        raise ValueError("masks are joined with `&`; `|` is not supported.")

    __ror__ = __or__

    def __bool__(self) -> bool:
        """For `if`: uniform conditions have a value, others unroll the loops they depend on."""
        pending: list = []
        for condition in self.conditions:
            low, high = condition.bounds()
            if high < 0:
                return False
            if low < 0:
                if condition.shape and not _joined_with_and():
                    condition.as_number()
                elif not condition.shape:
                    pending += [loop.key for loop in condition.terms]
        if pending:
            raise Unroll(pending)
        return True

    def __setitem__(self, index, value):
        raise TypeError("'mask' tensor does not support item assignment")

    def __repr__(self) -> str:
        return " & ".join(f"({condition} >= 0)" for condition in self.conditions) or "True"


class InBoxes(NamedTuple):
    """What emits a masked result: called with a tile, it writes the parts `cut` that the mask
    leaves, boxes of (start, size) per dimension, and no other element."""

    cut: list
    emit: Callable[..., None]

    def __call__(self, *tiles: Any, **options: Any) -> None:
        self.emit(*tiles, **options)


def _joined_with_and() -> bool:
    """Whether the kernel wrote `mask and mask`, where the vendor takes the first for true."""
    frame = kernel_frame()
    if frame is None:
        return False
    node = syntax_at(frame)[1]  # of a condition that is only tested, the operand
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And)


_NEVER = Mask((Expression(-1, {}),))
