"""Methods of tensors that both languages have."""

import math

from neuron_sim import _core

from .dtypes import dtype_of

product = math.prod


def refused(tensor, what: str, why: str, kind: type[Exception] = ValueError) -> Exception:
    """The error of a view that a tensor does not have."""
    return kind(f"{what} of '{tensor.describe()}': {why}")


def with_index(result, index, rows: int, stride: int):
    """The result, of which a tile holds the indices in a dimension of `rows`, `stride` apart."""
    result.index, result.index_rows, result.index_stride = index, rows, stride
    return result


def writable(tensor) -> None:
    """err_cannot_update_immutable_parameter; notes that the tensor is written."""
    if not tensor.storage.mutable:
        raise ValueError(
            f"Cannot update immutable parameter `{tensor.name}`: annotate it as "
            "nki.typing.mutable_tensor, or write to a copy of it."
        )
    tensor.storage.written = True


def same_elements(a, b) -> bool:
    """Whether two tensors of one storage are the same elements in the same order."""
    return a.dtype is b.dtype and a.is_same_view(b)


def dense_strides(shape) -> tuple:
    """Strides in elements of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def view(tensor, dtype):
    """A view of the bytes as another dtype; the last dimension scales with the element size."""
    tensor.settle()
    dtype = dtype_of(dtype)
    old, new = tensor.dtype.itemsize, dtype.itemsize
    shape, strides = tensor.shape, tensor.steps
    if old != new:
        shape, strides = _scaled(tensor, old, new)
    offset, rest = tensor.start, 0
    if old > new:
        offset = offset * (old // new)
    elif new > old:
        offset, rest = divmod(offset, new // old)
    if rest:
        raise ValueError(f"view of '{tensor.describe()}' as {dtype}: its start is not aligned.")
    result = tensor.derived(shape, strides, tensor.axis, tensor.partition, offset)
    result.dtype = dtype
    result.index_stride = tensor.index_stride * old // new
    return result


def _scaled(tensor, old: int, new: int) -> tuple:
    *outer, last = tensor.shape
    if last * old % new or (last > 1 and tensor.steps[-1] != 1):
        raise ValueError(
            f"view of '{tensor.describe()}' with elements of {new} bytes: the bytes of the last "
            "dimension must be contiguous and a whole number of elements."
        )
    strides = list(tensor.steps[:-1])
    for d, stride in enumerate(strides):
        if d != tensor.axis:
            strides[d], rest = divmod(stride * old, new)
            if rest:
                why = f"stride {stride} of dimension {d} is not a whole number of elements"
                raise refused(tensor, "view", f"{why} of {new} bytes.")
    return (*outer, last * old // new), (*strides, 1)


def reshape(tensor, *sizes, shape=None):
    """A view of the elements, in their order; on chip the partition dimension keeps its size.

    ValueError when the strides do not allow it without moving elements.
    """
    tensor.settle()
    if shape is None:
        shape = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    sizes = tuple(with_inferred(tensor.size, [int(size) for size in shape]))
    if product(sizes) != tensor.size:
        raise _not_reshaped(tensor, sizes, "the number of elements differs.")
    axis = tensor.axis
    if axis is None:
        strides = _regrouped(tensor, tensor.shape, tensor.steps, sizes)
        return tensor.derived(sizes, strides)
    new = _position_of_partitions(tensor, sizes, tensor.shape[axis])
    before = _regrouped(tensor, tensor.shape[:axis], tensor.steps[:axis], sizes[:new])
    after = _regrouped(tensor, tensor.shape[axis + 1 :], tensor.steps[axis + 1 :], sizes[new + 1 :])
    strides = (*before, tensor.steps[axis], *after)
    return tensor.derived(sizes, strides, new, tensor.partition, tensor.start)


def _not_reshaped(tensor, sizes, why: str) -> ValueError:
    return ValueError(f"cannot reshape tensor '{tensor.describe()}' to {list(sizes)}: {why}")


def with_inferred(count: int, sizes: list) -> list:
    """The sizes, of which one may be -1, of that many elements."""
    if sizes.count(-1) == 1:
        known = -product(sizes)
        sizes[sizes.index(-1)] = count // known if known else 0
    return sizes


def _position_of_partitions(tensor, sizes: tuple, kept: int) -> int:
    """Where the partition dimension is in a new shape: after the same number of blocks."""
    blocks = product(tensor.shape[: tensor.axis])
    for position, size in enumerate(sizes):
        if size == kept and product(sizes[:position]) == blocks:
            return position
    why = f"the partition dimension of size {kept} cannot be split or merged."
    raise _not_reshaped(tensor, sizes, why)


def _regrouped(tensor, shape, strides, sizes) -> tuple:
    """Strides of dimensions `sizes` over the elements of (shape, strides)."""
    runs = _core.merged(list(zip(strides, shape, strict=True)))
    result: list = []
    stride, left = runs.pop() if runs else (1, 1)
    step = stride
    for size in reversed(sizes):
        if size == 1:
            result.append(step)
            continue
        while left == 1 and runs:
            stride, left = runs.pop()
            step = stride
        if left % size:
            raise _not_reshaped(tensor, sizes, "its elements are not adjacent in memory.")
        result.append(step)
        step *= size
        left //= size
    return tuple(reversed(result))


def broadcast_free(tensor, sizes):
    """The free dimensions (all dimensions in HBM) repeated with stride 0."""
    tensor.settle()
    sizes = tuple(sizes)
    missing = len(sizes) - len(tensor.shape)
    lead = 0 if tensor.axis is None else tensor.axis + 1
    shape = tensor.shape[:lead] + (1,) * missing + tensor.shape[lead:]
    strides = tensor.steps[:lead] + (0,) * missing + tensor.steps[lead:]
    pairs = list(zip(shape, sizes, strict=missing >= 0))
    stretched = [d for d, (old, new) in enumerate(pairs) if old != new]
    if missing < 0 or any(d < lead or shape[d] != 1 for d in stretched):
        raise ValueError(f"cannot broadcast tensor '{tensor.describe()}' to shape {list(sizes)}.")
    steps = tuple([0 if d in stretched else step for d, step in enumerate(strides)])
    return tensor.derived(sizes, steps)


def expand_dims(tensor, axis):
    """A dimension of size 1 at `axis`, which on chip is after the partition dimension."""
    tensor.settle()
    shape, strides = list(tensor.shape), list(tensor.steps)
    for each in (axis,) if isinstance(axis, int) else tuple(axis):
        position = each + len(shape) + 1 if each < 0 else each
        if position > len(shape) or (tensor.axis is not None and position <= tensor.axis):
            raise refused(tensor, "expand_dims", f"no dimension can be added at {each}.")
        shape.insert(position, 1)
        strides.insert(position, 0)
    return tensor.derived(shape, strides)


def assert_shape(tensor, shape):
    """The tensor itself; ValueError when it has another shape."""
    if tuple(shape) != tensor.shape:
        raise ValueError(
            f"shape of `{tensor.describe()}` does not match the expected shape of {list(shape)}"
        )
    return tensor
