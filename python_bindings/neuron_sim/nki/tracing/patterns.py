"""Access patterns as numbers: steps and offsets of a tensor in its storage, and ap()."""

from . import methods
from .active import note
from .control_flow.registers import VirtualRegister
from .dtypes import dtype_of
from .errors import indirect_pattern


def strides(tensor) -> tuple:
    """Steps in elements; the partition dimension's is the elements of a partition."""
    if tensor.axis is None:
        return tensor.steps
    axis = tensor.axis
    across = tensor.steps[axis] * tensor.row
    return (*tensor.steps[:axis], across, *tensor.steps[axis + 1 :])


def offset(tensor):
    """The first element in the storage, in row-major order."""
    return tensor.start if tensor.axis is None else tensor.partition * tensor.row + tensor.start


def get_pattern(tensor) -> list:
    """[[stride, size], ...], as ap() takes it."""
    return [list(pair) for pair in zip(strides(tensor.settle()), tensor.shape, strict=True)]


def is_indirect(tensor) -> bool:
    """Whether an index is read when the kernel runs."""
    return tensor.index is not None or tensor.register is not None


def ap(tensor, pattern, offset=None, scalar_offset=None, vector_offset=None,
       indirect_dim: int = 0, dtype=None):  # fmt: skip
    """The pattern [[step, size], ...] on the storage, whatever view this is called on.

    Steps and offset count elements of `dtype` in row-major order. On chip the first step is the
    elements of a partition of the tile. If it equals those of a contiguous view instead, steps and
    offset count within the view, as nki-library uses ap on parts of tiles. offset None: the
    view's. scalar_offset: a tile of one element, a register or the variable of a loop,
    vector_offset: a tile [P, 1]; they count steps of dimension `indirect_dim`.
    """
    if dtype is None and scalar_offset is None and vector_offset is None and offset is not None:
        return tensor.pattern(pattern, offset)
    if is_indirect(tensor):
        raise indirect_pattern(tensor)
    kind = tensor.dtype if dtype is None else dtype_of(dtype)
    base = tensor if kind is tensor.dtype else methods.view(_whole(tensor), kind)
    result = base.pattern(pattern, _begin(tensor, base, pattern, offset))
    if scalar_offset is not None and vector_offset is not None:
        raise ValueError("ap: at most one of scalar_offset and vector_offset can be given.")
    if scalar_offset is not None:
        start = scalar_offset.start if hasattr(scalar_offset, "storage") else 0
        if not isinstance(start, int) or start != 0:
            note("VA-APOFF", f"'{scalar_offset.describe()}' begins at element {start}")
        return moved(result, scalar_offset, _indirect_step(tensor, indirect_dim), tensor.dtype)
    if vector_offset is not None:
        if indirect_dim != 0:
            raise ValueError(f"ap: vector_offset needs indirect_dim 0, not {indirect_dim}.")
        own = result.derived(result.shape, result.steps)
        return methods.with_index(own, vector_offset, tensor.shape[0], tensor.steps[0])
    return result


def _indirect_step(tensor, indirect_dim: int) -> int:
    """Elements between two indices of a dimension of the tensor that `ap` is called on."""
    if not 0 <= indirect_dim < len(tensor.shape):
        why = f"indirect_dim {indirect_dim} does not exist; it has {len(tensor.shape)} dimensions."
        raise methods.refused(tensor, "ap", why, IndexError)
    if indirect_dim == tensor.axis:
        why = f"dimension {indirect_dim} is the partition dimension, which has no dynamic index."
        raise methods.refused(tensor, "ap", why)
    return tensor.steps[indirect_dim]


def moved(tensor, index, step: int, dtype):
    """The view `index` steps of `step` elements of `dtype` further.

    index: an int, the variable of a loop, or what is read when the kernel runs: a register or a
    tile of one element. ValueError when the tensor has such an index already.
    """
    scale = step * dtype.itemsize
    if not hasattr(index, "storage") and not isinstance(index, VirtualRegister):
        start = tensor.start + index * (scale // tensor.dtype.itemsize)
        return tensor.derived(tensor.shape, tensor.steps, tensor.axis, tensor.partition, start)
    if is_indirect(tensor):
        raise methods.refused(tensor, "select", "the view is indirect already.")
    if hasattr(index, "storage") and index.size != 1:
        raise ValueError(
            f"the dynamic index '{index.describe()}' of tensor `{tensor.name}` has {index.size} "
            "elements, not one."
        )
    result = tensor.derived(tensor.shape, tensor.steps)
    result.register = (index, scale)
    return result


def _whole(tensor):
    """The storage in its own order."""
    storage = tensor.storage
    axis = None if storage.memory == "hbm" else 0
    return type(tensor)(storage, storage.shape, storage.dtype, axis)


def _begin(tensor, base, pattern, offset_elements):
    if offset_elements is not None:
        return offset_elements
    (step, size), *_ = pattern
    if base.axis is not None and size != 1 and step != base.row:
        return 0  # counts in the view
    first = offset(tensor)
    return first if base is tensor else first * tensor.dtype.itemsize // base.dtype.itemsize
