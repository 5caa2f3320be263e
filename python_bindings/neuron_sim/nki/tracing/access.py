"""The View of a tensor's access pattern, after its bounds were checked."""

from .expression import affine_of

MAXIMUM_RANK = 5  # of an access pattern: partitions and four free dimensions


class NotOnePattern(ValueError):
    """A tensor that no access pattern names: see splitting."""


def out_of_bound(tensor, dimension: int, low: int, high: int, size: int) -> IndexError:
    """err_tensor_access_out_of_bound."""
    return IndexError(
        f"Out-of-bound access for tensor `{tensor.name}` on dimension {dimension}: "
        f"index range [{low}, {high}] exceed dimension size of {size}"
    )


def run_checks(tensor) -> None:
    """The bounds of every index, over all trips of the loops and positions of the tile."""
    shape = tensor.shape
    for d, base, steps, limit in tensor.checks:
        low, high = (base, base) if type(base) is int else base.bounds()
        for j, step in steps.items():
            extent = step * (shape[j] - 1)
            if extent < 0:
                low += extent
            else:
                high += extent
        if low < 0 or high >= limit:
            raise out_of_bound(tensor, d, low, high, limit)


def access_of(tensor):
    """The View of a tensor's access pattern."""
    storage = tensor.storage
    if tensor.checks:
        run_checks(tensor)
    whole = storage.whole if tensor.dtype is storage.dtype else storage.whole_as(tensor.dtype)
    dimensions = list(zip(tensor.steps, tensor.shape, strict=True))
    offset = tensor.start
    if type(offset) is not int:
        offset = affine_of(offset)
    axis = tensor.axis
    if axis is None:
        return _hbm_access(tensor, whole, dimensions, offset)
    if axis > 0:
        if any(size != 1 for size in tensor.shape[:axis]):
            raise ValueError(
                f"Failed to infer tile from tensor '{tensor.name}': the first dimension of a tile "
                "is the partition dimension, but the tensor has block dimensions before it."
            )
        dimensions = dimensions[axis:]
    if len(dimensions) > MAXIMUM_RANK:
        dimensions[1:] = merged(dimensions[1:])
    partition = tensor.partition
    if type(partition) is not int:
        partition = affine_of(partition)
    view = _pattern(whole, dimensions, offset, partition)
    return view if tensor.register is None else at_register(tensor, view)


def _pattern(whole, dimensions: list, offset, partition):
    """whole.pattern(...); NotOnePattern when there is none."""
    try:
        return whole.pattern(dimensions, offset, partition)
    except ValueError as error:
        raise not_one_pattern(dimensions, error) from None


def not_one_pattern(dimensions, error: ValueError) -> ValueError:
    """The builder's refusal of a pattern, as NotOnePattern when splitting is the answer to it."""
    if len(dimensions) > MAXIMUM_RANK or any(step < 0 for step, _ in dimensions):
        return NotOnePattern(*error.args)
    return error


def at_register(tensor, view):
    """The view with an address that is known when the kernel runs.

    It comes from a register, or from a tile of one element that is loaded into one right before.
    """
    source, scale = tensor.register
    number = getattr(source, "index", None)
    if hasattr(source, "storage"):
        trace = tensor.storage.trace
        number = trace.control.scratch_register()
        trace.builder.register_load(number, source.access)
    return view.at_register(number, scale)


def _hbm_access(tensor, whole, dimensions: list, offset):
    if tensor.index is not None:
        rows = min(tensor.shape[0], tensor.index_rows)
        dimensions[0] = (tensor.index_stride, rows)
    if len(dimensions) > MAXIMUM_RANK:
        first = 0 if tensor.index is None else 1
        dimensions[first:] = merged(dimensions[first:])
    view = _pattern(whole, dimensions or [(1, 1)], offset, 0)
    if tensor.register is not None:
        view = at_register(tensor, view)
    if tensor.index is None:
        return view
    if tensor.shape[0] <= tensor.index_rows:
        return view.indirect(tensor.index_rows)
    return view.indirect(tensor.index_rows, tensor.shape[0])


def merged(dimensions: list) -> list:
    """The same elements in the same order with as few (stride, size) as possible."""
    result: list = []
    for stride, size in dimensions:
        if size == 1:
            continue
        if result and result[-1][0] == stride * size:
            result[-1] = (stride, result[-1][1] * size)
        else:
            result.append((stride, size))
    return result or [(1, 1)]


def same_access(a, b) -> bool:
    """Whether two tensors of one storage are the same elements in the same order."""
    return (
        a.shape == b.shape
        and a.steps == b.steps
        and a.dtype is b.dtype
        and _same(a.start, b.start)
        and _same(a.partition, b.partition)
    )


def _same(a, b) -> bool:
    if type(a) is int or type(b) is int:
        return type(a) is type(b) and a == b
    return a.constant == b.constant and a.terms == b.terms
