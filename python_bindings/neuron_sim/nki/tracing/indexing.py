"""Indices of a tensor -> a tensor of exactly that access pattern."""

from operator import index as as_int

from neuron_sim import _core

from . import patterns
from .access import out_of_bound
from .dynamic import DynamicIndex, not_native
from .dynamic import DynamicSlice as Pointed
from .expression import Expression, aligned
from .mask import Mask, boxes
from .register_indices import is_register, split_register
from .registers import VirtualRegister


class DynamicSlice(_core.DynamicSlice):
    """nl.ds(start, size): elements start .. start + size - 1; start may be symbolic."""

    __slots__ = ()


def indexed(tensor, items: tuple):
    """tensor[items]: basic indices (ints, slices, nl.ds, `...`, None) or advanced ones (arange)."""
    advanced = mixed = False
    for item in items:
        kind = type(item)
        if kind is Expression:
            if item.shape:
                advanced = True
        elif kind is Mask:
            return masked(tensor, item, items)
        elif kind is VirtualRegister or kind is DynamicSlice and is_register(item.start):
            fixed, register, d = split_register(tensor, _spelled_out(tensor, items))
            rest = indexed(tensor, fixed)
            return patterns.moved(rest, register, tensor.steps[d], tensor.dtype)
        elif kind is slice or item is Ellipsis or item is None or kind is DynamicSlice:
            mixed = True
        elif hasattr(item, "storage") or kind is DynamicIndex:
            advanced = True
    if not advanced:
        return basic(tensor, _spelled_out(tensor, items))
    if mixed:
        raise IndexError(
            "Mixing basic tensor indexing and advanced tensor indexing is not supported."
        )
    return with_index_tensors(tensor, items)


def _spelled_out(tensor, items: tuple) -> tuple:
    """The same indices without `...`."""
    for position, item in enumerate(items):
        if item is Ellipsis:
            named = sum(each is not None for each in items) - 1
            missing = len(tensor.shape) - named
            return items[:position] + (slice(None),) * missing + items[position + 1 :]
    return items


def basic(tensor, items: tuple):
    """Ints and slices. On chip the partition dimension stays; at least two dimensions are left."""
    shape, strides, axis = tensor.shape, tensor.steps, tensor.axis
    if len(items) > len(shape) and sum(each is not None for each in items) > len(shape):
        raise IndexError(
            f"too many indices for tensor `{tensor.name}`: it has {len(shape)} dimensions, "
            f"{len(items)} were indexed."
        )
    partition, offset = tensor.partition, tensor.start
    new_shape: list = []
    new_strides: list = []
    new_axis = axis
    checks: list = []
    d = 0
    for item in items:
        if item is None:
            if axis is not None and d <= axis:
                raise IndexError(
                    f"tensor `{tensor.name}`: no dimension can be added before the partitions."
                )
            new_shape.append(1)
            new_strides.append(0)
            continue
        size, stride = shape[d], strides[d]
        start, count, step = _range_of(tensor, d, item, size)
        if type(start) is int:
            last = start + (count - 1) * step if count else start
            if start < 0 or last >= size:
                if start < 0 or not _may_be_masked(tensor, item):
                    raise out_of_bound(tensor, d, start, last, size)
                checks.append((d, start, {len(new_shape): step}, size))
        if d == axis:
            partition = partition + start * stride
            if step != 1:
                raise IndexError(
                    f"tensor `{tensor.name}`: partition stride {step} is not supported."
                )
            new_axis = len(new_shape)
        else:
            offset = offset + start * stride
        if type(start) is not int:
            kept = d == axis or type(item) in (slice, DynamicSlice)
            checks.append((d, start, {len(new_shape): step} if kept else {}, size))
        if d == axis or type(item) is slice or type(item) is DynamicSlice:
            new_shape.append(count)
            new_strides.append(stride * step)
        d += 1
    if axis is not None and d <= axis:
        new_axis = len(new_shape) + axis - d
    new_shape += shape[d:]
    new_strides += strides[d:]
    if axis is not None and len(new_shape) == 1:
        new_shape.append(1)
        new_strides.append(1)
    result = tensor.derived(tuple(new_shape), tuple(new_strides), new_axis, partition, offset)
    if checks:
        result.checks = tuple(checks)
    return result


def _range_of(tensor, d: int, item, size: int) -> tuple:
    """(start, count, step) of an int, an index expression, a slice or nl.ds."""
    kind = type(item)
    if kind is int:
        return (item + size if item < 0 else item), 1, 1
    if kind is slice:
        step = 1 if item.step is None else as_int(item.step)
        if step < 1:
            raise IndexError(f"tensor `{tensor.name}`: the step {step} of a slice is not positive.")
        start, stop = item.start, item.stop
        if start is None:
            start = 0
        elif type(start) is not Expression:
            start = as_int(start)
            start = start + size if start < 0 else start
        if stop is None:
            stop = size
        elif type(stop) is not Expression:
            stop = as_int(stop)
            stop = stop + size if stop < 0 else stop
        extent = as_int(stop - start)
        return start, max(0, (extent + step - 1) // step), step
    if kind is DynamicSlice:
        start = item.start
        return (start if type(start) is Expression else as_int(start)), item.size, 1
    if kind is Expression:
        return item, 1, 1
    try:
        number = as_int(item)
    except TypeError:
        raise IndexError(f"tensor `{tensor.name}` cannot be indexed with {item!r}.") from None
    return (number + size if number < 0 else number), 1, 1


def with_index_tensors(tensor, items: tuple):
    """Affine expressions of arange dimensions, and at most one index that a tile holds."""
    if len(items) > len(tensor.shape):
        raise IndexError(
            f"too many indices for tensor `{tensor.name}`: it has {len(tensor.shape)} dimensions, "
            f"{len(items)} were indexed."
        )
    expressions, held = [], None
    for d, item in enumerate(items):
        if type(item) is Expression:
            expressions.append(item)
        elif hasattr(item, "storage") or type(item) is DynamicIndex:
            if held is not None:
                raise IndexError(f"tensor `{tensor.name}` can have one tile of indices only.")
            held = (d, item)
            expressions.append(_static_part(item))
        else:
            number = as_int(item)
            expressions.append(Expression(number + tensor.shape[d] if number < 0 else number, {}))
    box = expressions[0]
    for each in expressions[1:]:
        shape, _, _ = aligned(box, each)
        box = Expression(0, {}, (0,) * len(shape), shape)
    if len(box.shape) == 1:
        raise IndexError(f"indexing tensor `{tensor.name}` with 1d arange is not supported")
    result = _gathered(tensor, expressions, box.shape)
    if held is not None:
        d, index = held
        if tensor.axis is not None and d > tensor.axis:
            _point(tensor, result, d, index, expressions[d])
            return result
        _check_indirect(tensor, d, index, box.shape)
        result.index = index
        result.index_rows = tensor.shape[d]
        result.index_stride = tensor.steps[d]
    return result


def _static_part(item) -> Expression:
    """What is known of an index that a tile holds: its shape, and what is added to it."""
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
        raise not_native(tensor)
    size = tensor.shape[d] - static.constant
    result.dynamic = Pointed(tile, size, tensor.steps[d], along[0] if along else None)


def _may_be_masked(tensor, item) -> bool:
    """Whether a mask may cut what an index has beyond the end: the old language has masks."""
    return type(item) is slice and tensor.storage.trace.language == "old"


def _gathered(tensor, expressions: list, shape: tuple):
    """strides[j] = sum over tensor dimensions d of stride_d * coefficient of index d in j."""
    rank = len(shape)
    strides = [0] * rank
    partition, offset, axis = tensor.partition, tensor.start, tensor.axis
    checks = []
    for d, each in enumerate(expressions):
        missing = rank - len(each.shape)
        start = Expression(each.constant, each.terms) if each.terms else each.constant
        coefficients = {missing + j: step for j, step in enumerate(each.steps) if step}
        checks.append((d, start, coefficients, tensor.shape[d]))
        if d == axis:
            partition = partition + start * tensor.steps[d]
            _check_partition_index(tensor, coefficients, shape)
            strides[0] = tensor.steps[d] if coefficients else 0
            continue
        stride = tensor.steps[d]
        offset = offset + start * stride
        for j, step in coefficients.items():
            strides[j] += stride * step
    new_axis = None
    if axis is not None:
        new_axis = 0 if axis < len(expressions) else rank + axis - len(expressions)
        if new_axis == 0 and strides[0] == 0 and shape[0] == 1:
            strides[0] = 1
    count = len(expressions)
    result = tensor.derived(
        shape + tensor.shape[count:],
        tuple(strides) + tensor.steps[count:],
        new_axis,
        partition,
        offset,
    )
    result.checks = tuple(checks)
    return result


def _check_partition_index(tensor, coefficients: dict, shape: tuple) -> None:
    beyond = [j for j in coefficients if j != 0 and shape[j] != 1]
    if beyond:
        raise IndexError(
            f"Failed to infer tile from tensor '{tensor.name}': its partition dimension is indexed "
            f"by dimension {beyond[0]} of the tile; the first dimension of a tile is the partition "
            "dimension."
        )
    if coefficients.get(0, 1) != 1 and shape[0] > 1:
        raise IndexError(
            f"tensor `{tensor.name}`: partition stride {coefficients[0]} is not supported."
        )


def _check_indirect(tensor, d: int, index, shape: tuple) -> None:
    """err_indirect_indices_free_dim."""
    if tensor.axis is not None or type(index) is DynamicIndex:
        raise not_native(tensor)
    if len(index.shape) != 2 or index.shape[1] != 1 or index.shape[0] != shape[0]:
        raise IndexError(
            "Dynamic indexing for load/store only supports the indirect indexing to be on the "
            f"partition or block dimension: tensor `{tensor.name}` is indexed with a tile of shape "
            f"{list(index.shape)} for a tile of shape {list(shape)}; use nl.arange."
        )


def masked(tensor, mask: Mask, items: tuple):
    """tensor[mask]: the rectangle that an operand mask leaves."""
    if len(items) != 1:
        raise IndexError("Mixing basic tensor indexing and mask is not supported.")
    cut = boxes(mask, tensor.shape)
    if cut is None:
        return tensor
    if len(cut) != 1:
        raise IndexError(f"the mask of operand `{tensor.name}` leaves {len(cut)} rectangles.")
    return narrowed(tensor, cut[0])


def narrowed(tensor, box: tuple):
    """The box of a tensor. Dimensions of size 1 are broadcast ones and stay."""
    if tensor.storage is None:
        tensor.settle()
    shape = list(tensor.shape)
    partition, offset = tensor.partition, tensor.start
    moved: dict = {}
    for d, (start, size) in enumerate(box):
        if d >= len(shape) or shape[d] == 1 or (start == 0 and size == shape[d]):
            continue
        shape[d] = size
        if start:
            moved[d] = start
            if d == tensor.axis:
                partition = partition + start * tensor.steps[d]
            else:
                offset = offset + start * tensor.steps[d]
    result = tensor.same_storage(tuple(shape), tensor.steps, tensor.axis, partition, offset)
    if tensor.checks:
        result.checks = tuple(
            (d, base + sum(step * moved.get(j, 0) for j, step in steps.items()), steps, limit)
            for d, base, steps, limit in tensor.checks
        )
    if tensor.index is not None:
        result.index = narrowed(tensor.index, box[:1])
        result.index_rows, result.index_stride = tensor.index_rows, tensor.index_stride
    return result
