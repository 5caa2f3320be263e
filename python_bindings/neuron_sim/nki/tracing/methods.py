"""Methods of tensors that both languages have."""

import math

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


def view(tensor, dtype):
    """A view of the bytes as another dtype; the last dimension scales with the element size."""
    return tensor.with_elements_of(dtype_of(dtype))


def reshape(tensor, *sizes, shape=None):
    """A view of the elements, in their order; on chip the partition dimension keeps its size.

    ValueError when the strides do not allow it without moving elements.
    """
    if shape is None:
        shape = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    return tensor.reshaped([int(size) for size in shape])


def expand_dims(tensor, axis):
    """A dimension of size 1 at `axis`, which on chip is after the partition dimension."""
    return tensor.with_new_axes((axis,) if isinstance(axis, int) else axis)


def assert_shape(tensor, shape):
    """The tensor itself; ValueError when it has another shape."""
    if tuple(shape) != tensor.shape:
        raise ValueError(
            f"shape of `{tensor.describe()}` does not match the expected shape of {list(shape)}"
        )
    return tensor
