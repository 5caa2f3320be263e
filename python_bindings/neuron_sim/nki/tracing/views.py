"""Views of the new language: other patterns on the same storage; no element moves."""

from . import methods, patterns
from .control_flow.registers import VirtualRegister
from .methods import refused

_slice = slice


def _dimension(tensor, dim: int, what: str, stays: bool = False) -> int:
    """The number of a dimension of a tensor, which gets a storage. `stays`: it is not to be the
    partition dimension."""
    rank = len(tensor.settle().shape)
    position = dim + rank if dim < 0 else dim
    if not 0 <= position < rank:
        why = f"dimension {dim} does not exist; it has {rank}."
        raise refused(tensor, what, why, IndexError)
    if stays:
        _not_partitions(tensor, position, what)
    return position


def _not_partitions(tensor, position: int, what: str) -> None:
    if position == tensor.axis or (position == 0 and tensor.index is not None):
        why = f"dimension {position} is the partition dimension, which stays as it is."
        raise refused(tensor, what, why)


def _not_indirect(tensor, what: str) -> None:
    if patterns.is_indirect(tensor):
        raise refused(tensor, what, "the view is indirect already.")


def _indexed(tensor, position: int, item):
    """tensor[item] in one dimension."""
    return tensor.indexed((_slice(None),) * position + (item,))


def slice_(tensor, dim: int, start, end, step: int = 1):
    """Elements start, start + step, ... before `end` of one dimension."""
    position = _dimension(tensor, dim, "slice", patterns.is_indirect(tensor))
    return _indexed(tensor, position, _slice(start, end, step))


def select(tensor, dim: int, index):
    """One index of a dimension, which disappears (the partition dimension stays with size 1).

    An index that is a tile of one element, or a register, is read when the kernel runs.
    """
    position = _dimension(tensor, dim, "select")
    if not hasattr(index, "storage") and not isinstance(index, VirtualRegister):
        if patterns.is_indirect(tensor):
            _not_partitions(tensor, position, "select")
        return _indexed(tensor, position, index)
    _not_indirect(tensor, "select")
    if tensor.axis == position:
        raise refused(tensor, "select", "the partition dimension has no dynamic index.")
    result = _indexed(tensor, position, 0)
    return patterns.moved(result, index, tensor.steps[position], tensor.dtype)


def vector_select(tensor, dim: int, vector_offset):
    """Row vector_offset[p] of an HBM tensor in partition p."""
    tensor.settle()
    if dim != 0 or tensor.axis is not None:
        why = "only dimension 0 of a tensor in hbm can be selected"
        why = f"{why}, not dimension {dim} in {tensor.memory}."
        raise refused(tensor, "vector_select", why)
    _not_indirect(tensor, "vector_select")
    shape = (vector_offset.shape[0], *tensor.shape[1:])
    result = tensor.derived(shape, tensor.steps, None, 0, tensor.start)
    return methods.with_index(result, vector_offset, tensor.shape[0], tensor.steps[0])


def indirect(tensor, index, num_elem=None):
    """Tensor indirection of NeuronCore-v4: NotImplementedError."""
    raise NotImplementedError(
        f"indirect of '{tensor.describe()}': tensor indirection of NeuronCore-v4 is not there yet; "
        "nisa.local_gather gathers columns into a tile, vector_select rows of a tensor in hbm."
    )


def permute(tensor, dims):
    """Dimensions in another order; the partition dimension stays first."""
    return tensor.permuted(dims)


def _of_size_1(tensor, dim: int, what: str) -> int:
    """The number of a dimension of size 1."""
    position = _dimension(tensor, dim, what, stays=True)
    if tensor.shape[position] != 1:
        raise refused(tensor, what, f"dimension {dim} has size {tensor.shape[position]}, not 1.")
    return position


def broadcast(tensor, dim: int, size: int):
    """A dimension of size 1 repeated `size` times."""
    sizes = list(tensor.shape)
    sizes[_of_size_1(tensor, dim, "broadcast")] = size
    return tensor.repeated(sizes)


def expand_dim(tensor, dim: int):
    """A new dimension of size 1 before `dim`."""
    rank = len(tensor.settle().shape)
    position = dim + rank + 1 if dim < 0 else dim
    _not_partitions(tensor, position, "expand_dim")
    if not 0 <= position <= rank:
        why = f"dimension {dim} cannot be added."
        raise refused(tensor, "expand_dim", why, IndexError)
    return methods.expand_dims(tensor, position)


def squeeze_dim(tensor, dim: int):
    """A dimension of size 1 removed."""
    return tensor.without_axis(_of_size_1(tensor, dim, "squeeze_dim"))


def reshape_dim(tensor, dim: int, shape):
    """A dimension split into several; one size may be -1."""
    position = _dimension(tensor, dim, "reshape_dim")
    sizes, size = [int(each) for each in shape], tensor.shape[position]
    if sizes.count(-1) == 1:
        known = -methods.product(sizes)
        sizes[sizes.index(-1)] = size // known if known else 0
    if methods.product(sizes) != size or -1 in sizes:
        why = f"{list(shape)} is not the size of dimension {dim}."
        raise refused(tensor, "reshape_dim", why)
    if len(sizes) > 1:
        _not_partitions(tensor, position, "reshape_dim")
    return tensor.reshape(*tensor.shape[:position], *sizes, *tensor.shape[position + 1 :])


def flatten_dims(tensor, start_dim: int, end_dim: int):
    """Dimensions start_dim .. end_dim, adjacent in memory, merged into one."""
    first = _dimension(tensor, start_dim, "flatten_dims")
    last = _dimension(tensor, end_dim, "flatten_dims")
    if last > first:
        _not_partitions(tensor, first, "flatten_dims")
    shape = tensor.shape
    merged = methods.product(shape[first : last + 1])
    try:
        return tensor.reshape(*shape[:first], merged, *shape[last + 1 :])
    except ValueError:
        why = f"dimensions {first} to {last} are not contiguous in memory."
        raise refused(tensor, "flatten_dims", why) from None


def _names(entry) -> tuple:
    """Those of an entry of a pattern: a name, or several of dimensions that are merged."""
    return (entry,) if isinstance(entry, str) else tuple(entry)


def rearrange(tensor, src_pattern, dst_pattern, fixed_sizes=None):
    """Dimensions split, reordered and merged by name: ('b', ('h', 'w')) -> ('b', 'w', 'h')."""
    sizes = dict(fixed_sizes or {})
    if len(src_pattern) != len(tensor.settle().shape):
        why = f"{src_pattern} does not name {len(tensor.shape)} dimensions."
        raise refused(tensor, "rearrange", why)
    result = tensor
    names: list = []
    for group in map(_names, src_pattern):
        if len(group) != 1:
            result = reshape_dim(result, len(names), [sizes.get(name, -1) for name in group])
        names.extend(group)
    flat = [name for entry in dst_pattern for name in _names(entry)]
    if sorted(flat) != sorted(names) or len(set(names)) != len(names):
        why = f"{dst_pattern} does not have the names of {src_pattern}."
        raise refused(tensor, "rearrange", why)
    result = result.permuted([names.index(name) for name in flat])
    for position, entry in enumerate(dst_pattern):
        count = len(_names(entry))
        if count == 0:
            result = expand_dim(result, position)
        elif count > 1:
            result = flatten_dims(result, position, position + count - 1)
    return result
