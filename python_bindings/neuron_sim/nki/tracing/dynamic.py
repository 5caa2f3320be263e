"""Indices of a tile that are read when the kernel runs: `t[i_p, offsets[0, i] + i_f]`."""

from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(slots=True, eq=False)
class DynamicIndex:
    """The element of a tile [1, 1] plus an index expression."""

    __array_ufunc__ = None
    tile: Any
    expression: Any

    def __add__(self, other):
        return DynamicIndex(self.tile, self.expression + other)

    __radd__ = __add__

    def __sub__(self, other):
        return DynamicIndex(self.tile, self.expression - other)


class DynamicSlice(NamedTuple):
    """Where a dynamic index points: `size` elements, `step` apart, from the tensor's start.

    `tile` holds the first of them; `along`: the dimension that runs through them, or None.
    """

    tile: Any
    size: int
    step: int
    along: int | None


def region_of(tensor, other) -> tuple:
    """(region, like) of a dynamic copy: all that the index of `tensor` may point into, [P, F, ...],
    and `other` with the dimensions of a slice of it, [P, size, ...].

    ValueError when the index of `tensor` is not dynamic.
    """
    dynamic = tensor.dynamic
    if dynamic is None:
        raise ValueError(f"tensor `{tensor.describe()}` has no index that is read at run time.")
    others = [d for d in range(1, len(tensor.shape)) if d != dynamic.along]
    region = tensor.same_storage(
        (tensor.shape[0], dynamic.size, *[tensor.shape[d] for d in others]),
        (tensor.steps[0], dynamic.step, *[tensor.steps[d] for d in others]),
        tensor.axis,
        tensor.partition,
        tensor.start,
    )
    if dynamic.along is None:
        return region, other.expand_dim(1)
    return region, other.permute((0, dynamic.along, *others))
