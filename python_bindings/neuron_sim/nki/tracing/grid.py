"""Grids of kernel instances and a kernel's queries about its place in one."""

import math

from .active import current


class CoreDimension(int):
    """A dimension of a grid, or a part of one, that lies on physical cores: nl.nc(n)."""

    __slots__ = ()

    def __mul__(self, other):
        return spmd_dim(self, other)

    def __rmul__(self, other):
        return spmd_dim(other, self)


def nc(count: int) -> CoreDimension:
    """`count` physical cores."""
    return CoreDimension(count)


def spmd_dim(*parts) -> int:
    """One dimension of a grid from several; instances run one after another on any of them."""
    return math.prod(int(part) for part in parts)


def grid_of(key) -> tuple:
    """The sizes in kernel[key]; TypeError and ValueError for anything else."""
    parts = key if isinstance(key, tuple | list) else (key,)
    sizes = tuple([int(part.__index__()) for part in parts])
    if any(size < 0 for size in sizes):
        raise ValueError(f"a grid of shape {list(sizes)} has no instances.")
    return tuple([max(1, size) for size in sizes])  # kernel[0], which is in use, is one instance


def program_id(axis: int):
    """The position of this instance in a dimension of the grid; 0 without a grid."""
    trace = current()
    trace.claims.asks_for_instance = True
    ids = trace.program_ids
    if not ids and axis == 0:
        return 0
    if not -len(ids) <= axis < len(ids):
        raise IndexError(f"program_id({axis}): the grid has {len(ids)} dimensions.")
    return ids[axis]


def num_programs(axes=None):
    """The sizes of dimensions of the grid: an int for one axis, a tuple for several."""
    grid = current().grid
    if axes is None:
        return math.prod(grid)
    if isinstance(axes, (tuple, list)):
        return tuple([num_programs(axis) for axis in axes])
    if not grid and axes == 0:
        return 1
    if not -len(grid) <= axes < len(grid):
        raise IndexError(f"num_programs({axes}): the grid has {len(grid)} dimensions.")
    return grid[axes]


def program_ndim() -> int:
    """Number of dimensions of the grid."""
    return len(current().grid)
