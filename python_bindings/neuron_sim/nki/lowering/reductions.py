"""nl.sum, max, mean, var, softmax, rms_norm, ...: reductions along free dimensions.

Sums and what depends on them are kept in fp32 and rounded once. A mask narrows what takes part;
partitions it leaves out stay uninitialised.
"""

from neuron_sim import _core

from ..isa.instruction import TENSOR_REDUCE
from ..isa.reductions import in_groups, reduced_axes, with_axes_last
from ..isa.splitting import dense, is_wide
from ..tracing import boxes, current, dtype_of
from ..tracing.dtypes import bool_, float32
from . import elementwise as lowering
from . import tiles

plain_result = _core.plain_result


def reduced_shape(shape, axes, keepdims):
    """The shape left when dimensions are reduced; at least 2-D."""
    if len(shape) == 2:
        return (shape[0], 1)
    if keepdims:
        return tuple([1 if d in axes else size for d, size in enumerate(shape)])
    kept = tuple([size for d, size in enumerate(shape) if d not in axes])
    return kept if len(kept) > 1 else (*kept, 1)


def kept_box(box, axes, keepdims):
    """The box of a result: reduced dimensions have size 1 or are gone."""
    if keepdims:
        return tuple([(0, 1) if d in axes else part for d, part in enumerate(box)])
    kept = tuple([part for d, part in enumerate(box) if d not in axes])
    return kept if len(kept) > 1 else (*kept, (0, 1))


def trailing_axes(axis, rank, function):
    """How many dimensions `axis` names. ValueError unless they are the last free ones."""
    axes = reduced_axes(axis, rank, function)
    if axes[0] != rank - len(axes):
        raise ValueError(
            f"axis {axes} of '{function}' must be the last free dimensions of a tile of {rank}."
        )
    return len(axes)


def reduced(function, x, axis, dtype, mask, keepdims, emit, default=None):
    """The tile of emit(dst, x, count): a reduction of the last `count` dimensions of x.

    The dimensions `axis` are first moved after the others.
    """
    tiles.on_chip(x, "x", function).settle()
    axes = reduced_axes(axis, len(x.shape), function)
    shape = reduced_shape(x.shape, axes, keepdims)
    cut = None if mask is None else boxes(mask, x.shape)
    wanted = (default or x.dtype) if dtype is None else dtype_of(dtype)

    def write(dst):
        if cut is None:
            emit(dst, *reducible(x, axes))
            return
        for box in cut:
            emit(dst.narrow(kept_box(box, axes, keepdims)), *reducible(x.narrow(box), axes))

    return current().result(shape, wanted, "sbuf", write, explicit=dtype is not None)


def reducible(x, axes):
    """(x with the dimensions `axes` last, their number): a pattern, or a copy that has one."""
    ordered, count = in_groups(with_axes_last(x, axes), len(axes))
    return (ordered, count) if not is_wide(ordered) else in_groups(dense(ordered), count)


def reduction(function, op, x, axis, dtype=None, mask=None, keepdims=False):
    """One tensor_reduce with the operator `op` of the builder."""
    if mask is None and dtype is None:
        return plain_result(TENSOR_REDUCE, "rw1", _reduction, x, op, axis, function, keepdims)
    return _reduction(x, op, axis, function, keepdims, dtype, mask)


def _reduction(x, op, axis, function, keepdims, dtype=None, mask=None):
    if mask is None:
        tiles.on_chip(x, "x", function)
        rank = len(x.shape)
        axes = reduced_axes(axis, rank, function)
        if axes[0] == rank - len(axes) and rank <= _core.MAXIMUM_RANK:
            shape = reduced_shape(x.shape, axes, keepdims)
            operands = (x, op, len(axes))
            return tiles.instruction_result(shape, dtype, x.dtype, None, TENSOR_REDUCE, *operands)

    def emit(dst, part, count):
        current().builder.tensor_reduce(dst.access, part.access, op, count)

    return reduced(function, x, axis, dtype, mask, keepdims, emit)


def _elements(x, count):
    total = 1
    for size in x.shape[len(x.shape) - count :]:
        total *= size
    return total


def _total(x, count, scale=1.0):
    """scale * the sum over the last dimensions, in fp32, shaped to broadcast against x."""
    trace = current()
    total = trace.tile((*x.shape[: len(x.shape) - count], *[1] * count), float32)
    trace.builder.tensor_reduce(total.access, x.access, "add", count)
    if scale != 1.0:
        trace.builder.tensor_scalar(total.access, total.access, "multiply", scale)
    return total


def mean(x, axis, dtype=None, mask=None, keepdims=False):
    """The sum in fp32, times 1 / the number of elements."""

    def emit(dst, part, count):
        total = _total(part, count)
        current().builder.tensor_scalar(
            dst.access, total.access, "multiply", 1.0 / _elements(part, count)
        )

    return reduced("mean", x, axis, dtype, mask, keepdims, emit)


def variance(x, axis, dtype=None, mask=None, keepdims=False):
    """The mean of the squared distances from the mean (not of a sample)."""

    def emit(dst, part, count):
        centre = _total(part, count, 1.0 / _elements(part, count))
        distance = tiles.binary("subtract", part, centre, float32).settle()
        squares = lowering.unary("square", distance, float32).settle()
        total = _total(squares, count)
        current().builder.tensor_scalar(
            dst.access, total.access, "multiply", 1.0 / _elements(part, count)
        )

    return reduced("var", x, axis, dtype, mask, keepdims, emit)


def every(x, axis, dtype=None, mask=None):
    """1 where all elements are not 0: their comparisons with 0, then the minimum."""

    def emit(dst, part, count):
        trace = current()
        truth = trace.tile(part.shape, bool_)
        trace.builder.tensor_scalar(truth.access, part.access, "not_equal", 0.0)
        trace.builder.tensor_reduce(dst.access, truth.access, "minimum", count)

    return reduced("all", x, axis, dtype, mask, False, emit, bool_)


def softmax(x, axis, dtype=None, mask=None):
    """exp(x - max) / sum: maximum, activation with its sum, reciprocal, product.

    Over all free dimensions the maximum is the bias of the activation, which also sums; over fewer
    of them the steps are separate instructions.
    """
    tiles.on_chip(x, "x", "softmax").settle()
    count = trailing_axes(axis, len(x.shape), "softmax")
    wanted = x.dtype if dtype is None else dtype_of(dtype)
    whole = count == len(x.shape) - 1

    def compute(part):
        compute_one = _softmax_of_partitions if whole else _softmax_of_rows
        return compute_one(part, count, wanted)

    return lowering.masked(compute, wanted, mask, x)


def _softmax_of_partitions(x, count, dtype):
    trace = current()
    column = (x.shape[0], 1)
    largest, total = trace.tile(column, float32), trace.tile(column, float32)
    trace.builder.tensor_reduce(largest.access, x.access, "maximum", count, True)
    powers = trace.tile(x.shape, float32)
    trace.builder.activation(
        powers.access,
        "exp",
        x.access,
        largest.access,
        1.0,
        reduce_res=total.access,
        reduce_op="add",
        reduce_cmd="reset_reduce",
    )
    trace.builder.reciprocal(total.access, total.access)

    def emit(dst):
        current().builder.tensor_scalar(dst.access, powers.access, "multiply", total.access)

    return trace.result(x.shape, dtype, "sbuf", emit)


def _softmax_of_rows(x, count, dtype):
    trace = current()
    largest = trace.tile((*x.shape[: len(x.shape) - count], *[1] * count), float32)
    trace.builder.tensor_reduce(largest.access, x.access, "maximum", count)
    distance = tiles.binary("subtract", x, largest, float32).settle()
    powers = lowering.unary("exp", distance, float32).settle()
    total = _total(powers, count)
    trace.builder.reciprocal(total.access, total.access)
    return tiles.binary("multiply", powers, total, dtype)


def rms_norm(x, w, axis, n, epsilon=1e-6, dtype=None, mask=None):
    """x / sqrt(sum(x^2) / n + epsilon) * w, in fp32; w: a tile of x's shape or of one partition.

    w None: no weight.
    """
    tiles.on_chip(x, "x", "rms_norm").settle()
    count = trailing_axes(axis, len(x.shape), "rms_norm")
    wanted = x.dtype if dtype is None else dtype_of(dtype)
    if w is not None and w.shape[0] == 1 and x.shape[0] > 1:
        w = w.broadcast_to((x.shape[0], *w.shape[1:]))

    def compute(part, weight=None):
        squares = lowering.unary("square", part, float32).settle()
        scale = _total(squares, count)
        builder = current().builder
        builder.tensor_scalar(
            scale.access, scale.access, "multiply", 1.0 / n, False, "add", float(epsilon)
        )
        builder.activation(scale.access, "rsqrt", scale.access)
        if weight is None:
            return tiles.binary("multiply", part, scale, wanted)
        normal = tiles.binary("multiply", part, scale, float32).settle()
        return tiles.binary("multiply", normal, weight, wanted)

    operands = (x,) if w is None else (x, w)
    return lowering.masked(compute, wanted, mask, *operands)
