"""Views of the new language: other patterns on the same storage; no element moves."""

from . import methods, patterns
from .control_flow.registers import VirtualRegister

_slice = slice


def _dimension(tensor, dim: int, what: str) -> int:
    position = dim + len(tensor.shape) if dim < 0 else dim
    if not 0 <= position < len(tensor.shape):
        raise IndexError(
            f"{what} of '{tensor.describe()}': dimension {dim} does not exist; it has "
            f"{len(tensor.shape)}."
        )
    return position


def _not_partitions(tensor, position: int, what: str) -> None:
    if position == 0 and (tensor.axis == 0 or tensor.index is not None):
        raise ValueError(
            f"{what} of '{tensor.describe()}': dimension 0 is the partition dimension, which stays "
            "as it is."
        )


def _with(tensor, shape, steps):
    """A view from the same start with other free dimensions; an indirect view stays one."""
    result = tensor.derived(tuple(shape), tuple(steps), tensor.axis, tensor.partition, tensor.start)
    _keep_index(tensor, result)
    return result


def _keep_index(tensor, result) -> None:
    if tensor.index is not None:
        result.index = tensor.index
        result.index_rows, result.index_stride = tensor.index_rows, tensor.index_stride


def slice_(tensor, dim: int, start, end, step: int = 1):
    """Elements start, start + step, ... before `end` of one dimension."""
    position = _dimension(tensor.settle(), dim, "slice")
    if patterns.is_indirect(tensor):
        _not_partitions(tensor, position, "slice")
    result = tensor.indexed((_slice(None),) * position + (_slice(start, end, step),))
    _keep_index(tensor, result)
    return result


def select(tensor, dim: int, index):
    """One index of a dimension, which disappears (the partition dimension stays with size 1).

    An index that is a tile of one element, or a register, is read when the kernel runs.
    """
    position = _dimension(tensor.settle(), dim, "select")
    if not hasattr(index, "storage") and not isinstance(index, VirtualRegister):
        if patterns.is_indirect(tensor):
            _not_partitions(tensor, position, "select")
        result = tensor.indexed((_slice(None),) * position + (index,))
        _keep_index(tensor, result)
        return result
    if patterns.is_indirect(tensor):
        raise ValueError(f"select of '{tensor.describe()}': the view is indirect already.")
    if tensor.axis == position:
        raise ValueError(
            f"select of '{tensor.describe()}': the partition dimension has no dynamic index."
        )
    result = tensor.indexed((_slice(None),) * position + (0,))
    return patterns.moved(result, index, tensor.steps[position], tensor.dtype)


def vector_select(tensor, dim: int, vector_offset):
    """Row vector_offset[p] of an HBM tensor in partition p."""
    tensor.settle()
    if dim != 0 or tensor.axis is not None:
        raise ValueError(
            f"vector_select of '{tensor.describe()}': only dimension 0 of a tensor in hbm can be "
            f"selected, not dimension {dim} in {tensor.memory}."
        )
    if patterns.is_indirect(tensor):
        raise ValueError(f"vector_select of '{tensor.describe()}': the view is indirect already.")
    shape = (vector_offset.shape[0], *tensor.shape[1:])
    result = tensor.derived(shape, tensor.steps, None, 0, tensor.start)
    result.index = vector_offset
    result.index_rows, result.index_stride = tensor.shape[0], tensor.steps[0]
    return result


def indirect(tensor, index, num_elem=None):
    """Tensor indirection of NeuronCore-v4: NotImplementedError."""
    raise NotImplementedError(
        f"indirect of '{tensor.describe()}': tensor indirection of NeuronCore-v4 is not there yet; "
        "nisa.local_gather gathers columns into a tile, vector_select rows of a tensor in hbm."
    )


def permute(tensor, dims):
    """Dimensions in another order; the partition dimension stays first."""
    tensor.settle()
    dims = tuple(dims)
    if sorted(dims) != list(range(len(tensor.shape))):
        raise ValueError(
            f"permute of '{tensor.describe()}': {list(dims)} does not name each of its dimensions "
            "once."
        )
    if dims[0] != 0:
        _not_partitions(tensor, 0, "permute")
    return _with(tensor, [tensor.shape[d] for d in dims], [tensor.steps[d] for d in dims])


def broadcast(tensor, dim: int, size: int):
    """A dimension of size 1 repeated `size` times."""
    position = _dimension(tensor.settle(), dim, "broadcast")
    _not_partitions(tensor, position, "broadcast")
    if tensor.shape[position] != 1:
        raise ValueError(
            f"broadcast of '{tensor.describe()}': dimension {dim} has size "
            f"{tensor.shape[position]}, not 1."
        )
    shape, steps = list(tensor.shape), list(tensor.steps)
    shape[position], steps[position] = size, 0
    return _with(tensor, shape, steps)


def expand_dim(tensor, dim: int):
    """A new dimension of size 1 before `dim`."""
    tensor.settle()
    position = dim + len(tensor.shape) + 1 if dim < 0 else dim
    _not_partitions(tensor, position, "expand_dim")
    if not 0 <= position <= len(tensor.shape):
        raise IndexError(f"expand_dim of '{tensor.describe()}': dimension {dim} cannot be added.")
    shape, steps = list(tensor.shape), list(tensor.steps)
    shape.insert(position, 1)
    steps.insert(position, 0)
    return _with(tensor, shape, steps)


def squeeze_dim(tensor, dim: int):
    """A dimension of size 1 removed."""
    position = _dimension(tensor.settle(), dim, "squeeze_dim")
    _not_partitions(tensor, position, "squeeze_dim")
    if tensor.shape[position] != 1:
        raise ValueError(
            f"squeeze_dim of '{tensor.describe()}': dimension {dim} has size "
            f"{tensor.shape[position]}, not 1."
        )
    shape, steps = list(tensor.shape), list(tensor.steps)
    del shape[position], steps[position]
    return _with(tensor, shape, steps)


def reshape_dim(tensor, dim: int, shape):
    """A dimension split into several; one size may be -1."""
    position = _dimension(tensor.settle(), dim, "reshape_dim")
    size = tensor.shape[position]
    sizes = [int(each) for each in shape]
    known = 1
    for each in sizes:
        known *= each if each != -1 else 1
    if sizes.count(-1) == 1 and known:
        sizes[sizes.index(-1)] = size // known
        known *= size // known
    if known != size or -1 in sizes:
        raise ValueError(
            f"reshape_dim of '{tensor.describe()}': {list(shape)} is not the size of dimension "
            f"{dim}."
        )
    if len(sizes) > 1:
        _not_partitions(tensor, position, "reshape_dim")
    steps = [dense_stride * tensor.steps[position] for dense_stride in methods.dense_strides(sizes)]
    return _with(
        tensor,
        tensor.shape[:position] + tuple(sizes) + tensor.shape[position + 1 :],
        tensor.steps[:position] + tuple(steps) + tensor.steps[position + 1 :],
    )


def flatten_dims(tensor, start_dim: int, end_dim: int):
    """Dimensions start_dim .. end_dim, adjacent in memory, merged into one."""
    first = _dimension(tensor.settle(), start_dim, "flatten_dims")
    last = _dimension(tensor, end_dim, "flatten_dims")
    if last > first:
        _not_partitions(tensor, first, "flatten_dims")
    step = tensor.steps[last]
    size = tensor.shape[last]
    for d in range(last - 1, first - 1, -1):
        if tensor.shape[d] != 1 and size != 1 and tensor.steps[d] != step * size:
            raise ValueError(
                f"flatten_dims of '{tensor.describe()}': dimensions {d} and {d + 1} are not "
                "contiguous in memory."
            )
        step = tensor.steps[d] if size == 1 else step
        size *= tensor.shape[d]
    return _with(
        tensor,
        (*tensor.shape[:first], size, *tensor.shape[last + 1 :]),
        (*tensor.steps[:first], step, *tensor.steps[last + 1 :]),
    )


def rearrange(tensor, src_pattern, dst_pattern, fixed_sizes=None):
    """Dimensions split, reordered and merged by name: ('b', ('h', 'w')) -> ('b', 'w', 'h')."""
    tensor.settle()
    sizes = dict(fixed_sizes or {})
    if len(src_pattern) != len(tensor.shape):
        raise ValueError(
            f"rearrange of '{tensor.describe()}': {src_pattern} does not name {len(tensor.shape)} "
            "dimensions."
        )
    result = tensor
    names: list = []
    for entry in src_pattern:
        group = (entry,) if isinstance(entry, str) else tuple(entry)
        if len(group) != 1:
            result = reshape_dim(result, len(names), [sizes.get(name, -1) for name in group])
        names.extend(group)
    flat = [name for entry in dst_pattern
            for name in ((entry,) if isinstance(entry, str) else entry)]  # fmt: skip
    if sorted(flat) != sorted(names) or len(set(names)) != len(names):
        raise ValueError(
            f"rearrange of '{tensor.describe()}': {dst_pattern} does not have the names of "
            f"{src_pattern}."
        )
    result = permute(result, [names.index(name) for name in flat])
    position = 0
    for entry in dst_pattern:
        count = 1 if isinstance(entry, str) else len(entry)
        if count == 0:
            result = expand_dim(result, position)
        elif count > 1:
            result = flatten_dims(result, position, position + count - 1)
        position += 1
    return result
