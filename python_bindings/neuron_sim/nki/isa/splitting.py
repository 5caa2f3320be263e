"""Patterns that no instruction can express: negative steps, and more than four free dimensions.

An element-wise instruction, or a DMA, is issued once for every index of as few dimensions as
possible; a dimension that all operands walk backwards is walked forwards instead. Other
instructions read a dense copy.
"""

import itertools
from typing import Any

from neuron_sim import _core

from ..tracing import Trace, methods
from .instruction import TENSOR_COPY

NotOnePattern = _core.NotOnePattern
"""A tensor that no single access pattern describes, a ValueError."""

ELEMENTWISE: Any = _core.elementwise_instructions()


def is_wide(tensor) -> bool:
    """Whether no single access pattern describes the tensor."""
    steps = tensor.steps
    return min(steps) < 0 or _excess(tensor, steps, range(len(steps))) > 0


def dense(tensor):
    """The tensor, or a copy of it in a new tile when it has no access pattern."""
    if getattr(tensor, "axis", None) is None or tensor.settle().axis or not is_wide(tensor):
        return tensor
    return _copied(tensor)


def emit_in_parts(instruction: Any, operands: tuple, error: Exception) -> None:
    """An Instruction whose operands, dst first, are not all access patterns, which is `error`.

    The operands of an element-wise one are cut. Others read dense copies and write a dense tile,
    which is copied.
    """
    if instruction.method.__name__ in ELEMENTWISE:
        in_parts(instruction, *operands, otherwise=error)
        return
    sources = [dense(each) if hasattr(each, "storage") else each for each in operands[1:]]
    dst = operands[0]
    tile = _tile_like(dst) if is_wide(dst) else dst
    instruction(tile, *sources)
    if tile is not dst:
        in_parts(TENSOR_COPY, dst, tile)


def in_parts(emit, *operands: Any, otherwise: Exception | None = None) -> None:
    """emit(*operands) for parts of the operands that are access patterns, first dst.

    Operands with as many elements as the first are cut alike; the others (numbers, columns of one
    value per partition) stay whole. A source that overlaps dst in another order is copied first.
    NotOnePattern (`otherwise`, if given) when their shapes differ and no view has both.
    """
    dst = operands[0]
    size = dst.size
    positions = [
        k
        for k, each in enumerate(operands)
        if hasattr(each, "storage") and each.size == size and each.axis in (None, 0)
    ]
    tensors = []
    shape = max((operands[k].shape for k in positions), key=len)
    if otherwise is not None and not any(is_wide(operands[k]) for k in positions):
        raise otherwise
    for k in positions:
        each = operands[k]
        if k and each.storage is dst.storage and not methods.same_elements(each, dst):
            each = _copied(each)
        tensors.append(_forwards_checked(each, shape, otherwise))
    for parts in _pieces(tensors, shape):
        values = list(operands)
        for k, part in zip(positions, parts, strict=True):
            values[k] = part
        emit(*values)


def _forwards_checked(tensor, shape: tuple, otherwise):
    """The tensor in a shape, its bounds checked."""
    tensor.run_checks()
    if tensor.shape == shape:
        return tensor
    try:
        return tensor.reshape(shape)
    except ValueError:
        raise otherwise or NotOnePattern(
            f"the patterns of tensors of shapes {list(tensor.shape)} and {list(shape)} cannot be "
            "cut alike."
        ) from None


def _tile_like(tensor):
    return tensor.storage.trace.tile(tensor.shape, tensor.dtype, name=f"{tensor.name}_copy")


def _copied(tensor):
    tile = _tile_like(tensor)
    in_parts(TENSOR_COPY, tile, tensor)
    return tile


def _pieces(tensors: list, shape: tuple):
    """The tensors cut into patterns, in row-major order of the dimensions that are cut."""
    steps = [list(each.steps) for each in tensors]
    starts = [each.start for each in tensors]
    cut = []
    for d, size in enumerate(shape):
        along = [of[d] for of in steps]
        if size == 1 or min(along) >= 0:
            continue
        if max(along) > 0 or any(each.axis == d for each in tensors):
            cut.append(d)
            continue
        for k, of in enumerate(steps):
            starts[k] = starts[k] + of[d] * (size - 1)
            of[d] = -of[d]
    for of in steps:
        for d in range(len(shape)):
            of[d] = 1 if shape[d] == 1 else of[d]
    left = [d for d in range(len(shape)) if d not in cut]
    for tensor, of in zip(tensors, steps, strict=True):
        while (excess := _excess(tensor, of, left)) > 0:
            d = _best(tensor, of, left, excess)
            cut.append(d)
            left.remove(d)
    cut.sort()
    kept = tuple([1 if d in cut else size for d, size in enumerate(shape)])
    for index in itertools.product(*[range(shape[d]) for d in cut]):
        yield [
            _part(each, kept, of, start, list(zip(cut, index, strict=True)))
            for each, of, start in zip(tensors, steps, starts, strict=True)
        ]


def _part(tensor, kept: tuple, steps: list, start, index: list):
    partition = tensor.partition
    for d, position in index:
        if d == tensor.axis:
            partition = partition + steps[d] * position
        else:
            start = start + steps[d] * position
    taken = {d for d, _ in index}
    forwards = tuple([1 if d in taken else step for d, step in enumerate(steps)])
    return tensor.same_storage(kept, forwards, tensor.axis, partition, start)


def _first_free(tensor) -> int:
    return 1 if tensor.axis == 0 or tensor.index is not None else 0


def _excess(tensor, steps, dimensions) -> int:
    """Dimensions that the pattern along `dimensions` has in excess of an instruction's limit."""
    first = _first_free(tensor)
    pairs = [(steps[d], tensor.shape[d]) for d in dimensions if d >= first]
    return len(_core.merged(pairs)) - (_core.MAXIMUM_RANK - first)


def _best(tensor, steps: list, left: list, excess: int) -> int:
    """The dimension whose indices become instructions: the smallest one that helps."""
    candidates = [d for d in left if d >= _first_free(tensor) and tensor.shape[d] > 1]

    def helps(d: int) -> bool:
        return _excess(tensor, steps, [each for each in left if each != d]) < excess

    return min(list(filter(helps, candidates)) or candidates, key=tensor.shape.__getitem__)


Trace._emit_in_parts = staticmethod(emit_in_parts)
