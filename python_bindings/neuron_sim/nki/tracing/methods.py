"""Methods of tensors that both languages have."""

from neuron_sim import _core

from .dtypes import dtype_of


def _product(sizes) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def dense_strides(shape) -> tuple:
    """Strides in elements of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def view(tensor, dtype):
    """A view of the bytes as elements of another dtype; the last dimension scales."""
    return reinterpreted(tensor, dtype_of(dtype))


def reinterpreted(tensor, dtype):
    """A view of the bytes as another dtype; the last dimension scales with the element size."""
    tensor.settle()
    old, new = tensor.dtype.itemsize, dtype.itemsize
    shape, strides = tensor.shape, tensor.steps
    if old != new:
        shape, strides = _scaled(tensor, old, new)
    offset = tensor.start
    if old > new:
        offset = offset * (old // new)
    elif new > old:
        offset, rest = divmod(offset, new // old)
        if rest:
            raise ValueError(f"view of '{tensor.describe()}' as {dtype}: its start is not aligned.")
    result = tensor.derived(shape, strides, tensor.axis, tensor.partition, offset)
    result.dtype = dtype
    return result


def _scaled(tensor, old: int, new: int) -> tuple:
    *outer, last = tensor.shape
    if last * old % new or (last > 1 and tensor.steps[-1] != 1):
        raise ValueError(
            f"view of '{tensor.describe()}' with elements of {new} bytes: the bytes of the last "
            "dimension must be contiguous and a whole number of elements."
        )
    strides = []
    for d, stride in enumerate(tensor.steps[:-1]):
        if d == tensor.axis:
            strides.append(stride)
        elif stride * old % new:
            raise ValueError(
                f"view of '{tensor.describe()}': stride {stride} of dimension {d} is not a whole "
                f"number of elements of {new} bytes."
            )
        else:
            strides.append(stride * old // new)
    return (*outer, last * old // new), (*strides, 1)


def reshape(tensor, *sizes, shape=None):
    """A view of the elements, in their order; on chip the partition dimension keeps its size.

    ValueError when the strides do not allow it without moving elements.
    """
    tensor.settle()
    if shape is not None:
        sizes = tuple(shape)
    elif len(sizes) == 1 and not isinstance(sizes[0], int):
        sizes = tuple(sizes[0])
    sizes = _with_inferred(tensor, [int(size) for size in sizes])
    if _product(sizes) != tensor.size:
        raise ValueError(
            f"cannot reshape tensor '{tensor.describe()}' to {list(sizes)}: the number of elements "
            "differs."
        )
    axis = tensor.axis
    if axis is None:
        strides = _regrouped(tensor, tensor.shape, tensor.steps, sizes)
        return tensor.derived(sizes, strides, None, 0, tensor.start)
    kept = tensor.shape[axis]
    new_axis = _position_of_partitions(tensor, sizes, kept)
    before = _regrouped(tensor, tensor.shape[:axis], tensor.steps[:axis], sizes[:new_axis])
    after = _regrouped(
        tensor, tensor.shape[axis + 1 :], tensor.steps[axis + 1 :], sizes[new_axis + 1 :]
    )
    strides = (*before, tensor.steps[axis], *after)
    return tensor.derived(sizes, strides, new_axis, tensor.partition, tensor.start)


def _with_inferred(tensor, sizes: list) -> tuple:
    if sizes.count(-1) == 1:
        known = _product(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = tensor.size // known if known else 0
    return tuple(sizes)


def _position_of_partitions(tensor, sizes: tuple, kept: int) -> int:
    """Where the partition dimension is in a new shape: after the same number of blocks."""
    blocks = _product(tensor.shape[: tensor.axis])
    count = 1
    for position, size in enumerate(sizes):
        if count == blocks and size == kept:
            return position
        count *= size
    raise ValueError(
        f"cannot reshape tensor '{tensor.describe()}' to {list(sizes)}: the partition dimension "
        f"of size {kept} cannot be split or merged."
    )


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
            raise ValueError(
                f"cannot reshape tensor '{tensor.describe()}' to {list(sizes)}: its elements are "
                "not adjacent in memory."
            )
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
    if missing < 0:
        raise _not_broadcast(tensor, sizes)
    shape = tensor.shape[:lead] + (1,) * missing + tensor.shape[lead:]
    strides = tensor.steps[:lead] + (0,) * missing + tensor.steps[lead:]
    result = []
    for d, (old, new) in enumerate(zip(shape, sizes, strict=True)):
        if old == new:
            result.append(strides[d])
        elif old == 1 and d >= lead:
            result.append(0)
        else:
            raise _not_broadcast(tensor, sizes)
    return tensor.derived(sizes, tuple(result), tensor.axis, tensor.partition, tensor.start)


def _not_broadcast(tensor, sizes) -> ValueError:
    return ValueError(f"cannot broadcast tensor '{tensor.describe()}' to shape {list(sizes)}.")


def expand_dims(tensor, axis):
    """A dimension of size 1 at `axis`, which on chip is after the partition dimension."""
    tensor.settle()
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shape, strides = list(tensor.shape), list(tensor.steps)
    for each in axes:
        position = each + len(shape) + 1 if each < 0 else each
        if position > len(shape) or (tensor.axis is not None and position <= tensor.axis):
            raise ValueError(
                f"expand_dims of '{tensor.describe()}': no dimension can be added at {each}."
            )
        shape.insert(position, 1)
        strides.insert(position, 0)
    return tensor.derived(tuple(shape), tuple(strides), tensor.axis, tensor.partition, tensor.start)


def assert_shape(tensor, shape):
    """The tensor itself; ValueError when it has another shape."""
    if tuple(shape) != tensor.shape:
        raise ValueError(
            f"shape of `{tensor.describe()}` does not match the expected shape of {list(shape)}"
        )
    return tensor
