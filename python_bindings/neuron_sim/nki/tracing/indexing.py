"""Indices of tensors that the base class does not handle: registers, tiles of indices, masks."""

import numpy as np

from neuron_sim import _core

from . import methods, patterns
from .control_flow.registers import VirtualRegister
from .dynamic import DynamicIndex
from .dynamic import DynamicSlice as Pointed
from .errors import dynamic_index, mixed_indices
from .expression import Expression
from .mask import Mask, boxes

DynamicSlice = _core.DynamicSlice


def indexed(tensor, items: tuple):
    """tensor[items] when one of the items may be a register, a tile of indices or a mask."""
    held = []
    for position, item in enumerate(items):
        if isinstance(item, (Mask, bool, np.bool_)):
            return masked(tensor, item, items)
        start = item.start if type(item) is DynamicSlice else item
        if type(start) is VirtualRegister or _is_run_time_number(tensor, start, items):
            fixed, register, d = _split_register(tensor, spelled_out(tensor, items))
            return patterns.moved(tensor.indexed(fixed), register, tensor.steps[d], tensor.dtype)
        if hasattr(item, "storage") or type(item) is DynamicIndex:
            held.append(position)
    return with_held_index(tensor, items, held) if held else tensor.indexed(items)


def _is_run_time_number(tensor, item, items: tuple) -> bool:
    """Whether an item is a tile of one element among the numbers and slices of an HBM index."""
    return (
        hasattr(item, "storage")
        and item.size == 1
        and tensor.axis is None
        and not any(isinstance(each, Expression) and each.shape for each in items)
    )


def spelled_out(tensor, items: tuple) -> tuple:
    """The indices with `...` replaced by full slices."""
    for position, item in enumerate(items):
        if item is Ellipsis:
            named = sum(each is not None for each in items) - 1
            missing = len(tensor.shape) - named
            return items[:position] + (slice(None),) * missing + items[position + 1 :]
    return items


def _split_register(tensor, items: tuple) -> tuple:
    """(items with 0 in place of the register, the register, its dimension).

    A register, or a tile that is read into one, is one index, or the start of one nl.ds; as in
    select and ap(scalar_offset=), not of the partition dimension. The bounds are checked when the
    kernel runs.
    """
    fixed: list = []
    found = []
    dimension = 0
    for item in items:
        is_slice = type(item) is DynamicSlice
        start = item.start if is_slice else item
        if type(start) is VirtualRegister or hasattr(start, "storage"):
            found.append((dimension, start))
            fixed.append(DynamicSlice(0, item.size) if is_slice else 0)
        else:
            fixed.append(item)
        dimension += item is not None
    if len(found) > 1:
        raise IndexError(f"tensor `{tensor.name}`: at most one index can be a register.")
    dimension, register = found[0]
    if dimension >= len(tensor.shape) or dimension == tensor.axis:
        raise IndexError(
            f"tensor `{tensor.name}`: dimension {dimension} cannot be indexed with a register: "
            + ("it is the partition dimension." if dimension == tensor.axis else "there is none.")
        )
    return tuple(fixed), register, dimension


def with_held_index(tensor, items: tuple, held: list):
    """Index expressions and one index that a tile holds."""
    for item in items:
        if item is None or item is Ellipsis or isinstance(item, (slice, DynamicSlice)):
            raise mixed_indices(tensor)
    if len(held) > 1:
        raise IndexError(f"tensor `{tensor.name}` can have one tile of indices only.")
    d = held[0]
    index, static = items[d], _static_part(items[d])
    result = tensor.gathered((*items[:d], static, *items[d + 1 :]))
    if tensor.axis is not None and d > tensor.axis:
        _point(tensor, result, d, index, static)
        return result
    if tensor.axis is None and (
        type(index) is DynamicIndex or index.size == 1 and result.shape[0] != 1
    ):
        source = getattr(index, "tile", index)
        return patterns.moved(result, source, tensor.steps[d], tensor.dtype)
    _check_indirect(tensor, index, result.shape[: len(items) - len(tensor.shape) or None])
    return methods.with_index(result, index, tensor.shape[d], tensor.steps[d])


def _static_part(item) -> Expression:
    """The static part of an index that a tile holds: its shape, and what is added to it."""
    if type(item) is DynamicIndex:
        each = item.expression
        return each if type(each) is Expression else Expression(each, {})
    if item.size == 1:
        return Expression(0, {})
    return Expression(0, {}, (0,) * len(item.shape), item.shape)


def _point(tensor, result, d: int, index, static: Expression) -> None:
    """Index `d` of an on-chip tensor is the element of a tile: for the dynamic copies."""
    tile = index.tile if type(index) is DynamicIndex else index
    missing = len(result.shape) - len(static.shape)
    along = [missing + j for j, step in enumerate(static.steps) if step]
    fits = tile.size == 1 and not static.terms and all(step in (0, 1) for step in static.steps)
    if not fits or len(along) > 1:
        raise dynamic_index(tensor)
    size = tensor.shape[d] - static.constant
    result.dynamic = Pointed(tile, size, tensor.steps[d], along[0] if along else None)


def _check_indirect(tensor, index, shape: tuple) -> None:
    """err_indirect_indices_free_dim."""
    if tensor.axis is not None:
        raise dynamic_index(tensor)
    if len(index.shape) != 2 or index.shape[1] != 1 or index.shape[0] != shape[0]:
        raise IndexError(
            "Dynamic indexing for load/store only supports the indirect indexing to be on the "
            f"partition or block dimension: tensor `{tensor.name}` is indexed with a tile of shape "
            f"{list(index.shape)} for a tile of shape {list(shape)}; use nl.arange."
        )


def masked(tensor, mask: Mask | bool | np.bool_, items: tuple):
    """tensor[mask]: the rectangle that an operand mask leaves. A bool is a mask of numbers, such
    as the variables of unrolled loops."""
    if len(items) != 1:
        raise IndexError("Mixing basic tensor indexing and mask is not supported.")
    cut = boxes(mask, tensor.shape)
    if cut is None:
        return tensor
    if len(cut) != 1:
        raise IndexError(f"the mask of operand `{tensor.name}` leaves {len(cut)} rectangles.")
    return tensor.narrow(cut[0])
