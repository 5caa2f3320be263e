"""Changes to the arguments of an operator: other sizes, layouts, values, scalars and indices."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

SIZES = (0, 1, 2, 3, 5, 7, 17, 129, 130)
NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, -2, 7, 100, 0.5, -0.0, 1e-30, 1e30, float("nan"), float("inf"), float("-inf"),
    2**31 - 1, 2**31, -(2**31) - 1, 2**32 + 1, True, False, None, "none", 1 + 2j, [], (1, 2), [0],
)  # fmt: skip
SPECIAL_FLOATS = (
    float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-40, 1e-38, 3e38, 65504.0, 2.0**31,
    16777217.0, -1.0, 0.5,
)  # fmt: skip
SPECIAL_INTEGERS = (0, -1, 1, 2**31 - 1, -(2**31), 2**31, 2**32 + 1, 2**24 + 1, 2**63 - 1, 127, 255)
# Tensors of more elements are not made larger.
LARGEST = 20_000

Arguments = tuple[Any, tuple[Any, ...], dict[str, Any]]


def _tensors(arguments: Arguments) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]


def _with_tensors(
    arguments: Arguments, change: Callable[[torch.Tensor], torch.Tensor]
) -> Arguments:
    """The arguments with every tensor changed; one that is there twice stays one."""
    made: dict[int, torch.Tensor] = {}

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in made:
            made[id(value)] = change(value)
        return made[id(value)]

    return pytree.tree_map(leaf, arguments)


def _with_leaf(arguments: Arguments, place: int, value: Any) -> Arguments:
    leaves, structure = pytree.tree_flatten(arguments)
    leaves[place] = value
    return pytree.tree_unflatten(leaves, structure)


def resized(source: random.Random, arguments: Arguments) -> Arguments:
    """Every dimension of one size gets another one, in all tensors alike."""
    sizes = sorted({size for tensor in _tensors(arguments) for size in tensor.shape})
    if not sizes:
        return arguments
    old, new = source.choice(sizes), source.choice(SIZES)

    def change(tensor: torch.Tensor) -> torch.Tensor:
        for axis, size in enumerate(tensor.shape):
            if size != old or tensor.numel() // max(size, 1) * new > LARGEST:
                continue
            if size == 0:
                shape = [*tensor.shape]
                shape[axis] = new
                tensor = tensor.new_ones(shape)
            else:
                tensor = tensor.index_select(axis, torch.arange(new) % size)
        return tensor

    changed = _with_tensors(arguments, change)
    if source.random() < 0.5:
        return changed

    def number(leaf: Any) -> Any:
        return new if type(leaf) is int and leaf == old else leaf

    return pytree.tree_map(number, changed)


def one_resized(source: random.Random, arguments: Arguments) -> Arguments:
    """One tensor gets another size in one dimension, so that it may not fit the others."""
    leaves = pytree.tree_leaves(arguments)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and leaf.dim()]
    if not places:
        return arguments
    place = source.choice(places)
    tensor = leaves[place]
    axis, new = source.randrange(tensor.dim()), source.choice(SIZES)
    size = tensor.shape[axis]
    if size == 0 or tensor.numel() // size * new > LARGEST:
        return arguments
    return _with_leaf(arguments, place, tensor.index_select(axis, torch.arange(new) % size))


def relaid(source: random.Random, arguments: Arguments) -> Arguments:
    """Tensors with the same values in another layout: transposed, with gaps, expanded, offset."""

    def change(tensor: torch.Tensor) -> torch.Tensor:
        way = source.randrange(5)
        if tensor.layout is not torch.strided or tensor.dim() == 0 or way == 0:
            return tensor
        if way == 1:
            order = list(range(tensor.dim()))
            source.shuffle(order)
            back = [order.index(i) for i in range(tensor.dim())]
            return tensor.permute(order).contiguous().permute(back)
        if way == 2:
            shape = [size * 2 + 1 for size in tensor.shape]
            if tensor.numel() * 2 ** tensor.dim() > LARGEST:
                return tensor
            room = tensor.new_ones(shape)
            view = room[tuple(slice(1, None, 2) for _ in shape)]
            view.copy_(tensor)
            return view
        if way == 3:
            axis = source.randrange(tensor.dim())
            return tensor.narrow(axis, 0, min(1, tensor.shape[axis])).expand_as(tensor)
        room = tensor.new_ones(tensor.numel() + 3)
        view = room[3:].view(tensor.shape)
        view.copy_(tensor)
        return view

    return _with_tensors(arguments, change)


def revalued(source: random.Random, arguments: Arguments) -> Arguments:
    """Some elements become special values; of index tensors, wrong indices."""
    share = source.choice((0.02, 0.2, 1.0))

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.numel() == 0 or tensor.layout is not torch.strided:
            return tensor
        flat = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
        for _ in range(max(1, min(8, int(share * flat.numel())))):
            place = source.randrange(flat.numel())
            if tensor.dtype is torch.bool:
                flat[place] = source.random() < 0.5
            elif tensor.is_floating_point() or tensor.is_complex():
                flat[place] = source.choice(SPECIAL_FLOATS)
            else:
                limits = torch.iinfo(tensor.dtype)
                value = source.choice((*SPECIAL_INTEGERS, *tensor.shape))
                flat[place] = min(max(value, limits.min), limits.max)
        return flat.view(tensor.shape).requires_grad_(tensor.requires_grad)

    return _with_tensors(arguments, change)


def renumbered(source: random.Random, arguments: Arguments) -> Arguments:
    """One argument that is no tensor becomes another number, or nonsense."""
    leaves = pytree.tree_leaves(arguments)
    places = [i for i, leaf in enumerate(leaves) if not isinstance(leaf, torch.Tensor)]
    if not places:
        return arguments
    place = source.choice(places)
    if isinstance(leaves[place], torch.dtype):
        new: Any = source.choice((torch.float32, torch.int32, torch.bfloat16, torch.bool))
    elif type(leaves[place]) is int and source.random() < 0.6:
        new = leaves[place] + source.choice((-3, -1, 1, 2, 5))
    else:
        new = source.choice(NUMBERS)
    return _with_leaf(arguments, place, new)


def retyped(source: random.Random, arguments: Arguments) -> Arguments:
    """One tensor gets another dtype."""
    leaves = pytree.tree_leaves(arguments)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    if not places:
        return arguments
    place = source.choice(places)
    dtypes = (torch.float32, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool)
    tensor = leaves[place].detach()
    if tensor.is_floating_point():
        tensor = tensor.nan_to_num(0, 100, -100).clamp(-100, 100)
    return _with_leaf(arguments, place, tensor.to(source.choice(dtypes)))


def rearranged(source: random.Random, arguments: Arguments) -> Arguments:
    """An argument too many, one too few, two exchanged, or one that no operator has."""
    first, others, options = arguments
    way = source.randrange(4)
    if way == 0:
        return first, others[:-1], options
    if way == 1:
        return first, (*others, source.choice(NUMBERS)), options
    if way == 2 and others:
        return others[0], (first, *others[1:]), options
    return first, others, {**options, "nonsense": 1}


MUTATIONS = (resized, resized, one_resized, relaid, relaid, relaid, revalued, revalued, renumbered,
             renumbered, retyped, rearranged)  # fmt: skip
