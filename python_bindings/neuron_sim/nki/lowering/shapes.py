"""nl.transpose, broadcast_to, where, dropout, gather_flattened: movement of elements."""

from neuron_sim import _core

from ..isa.gathers import nc_stream_shuffle
from ..isa.operators import predicate_view
from ..tracing import Expression, Mask, Tensor, boxes, current, dtype_of
from ..tracing.active import check_partitions
from ..tracing.dtypes import float32, promote, uint8
from . import elementwise as lowering
from . import tiles
from .index_values import comparison_as_tile


def check_square(x, function):
    """ValueError, in the vendor's words, for what the Tensor engine cannot transpose."""
    if len(x.shape) > 2:
        raise ValueError(
            f"parameter '{x.describe()}' of '{function}' exceed max supported number of "
            "dimensions of 2."
        )
    check_stationary(x, x.shape[1], function)


def check_stationary(x, columns, function):
    """ValueError, in the vendor's words, for more columns than the Tensor engine holds."""
    most = current().target.limits.stationary_free
    if columns > most:
        raise ValueError(
            f"size of dimension 1 in '{x.describe()}' of '{function}' exceed architecture "
            f"limitation of {most}."
        )


def transposed(x, function="transpose"):
    """x.T of a tile in PSUM, on the Tensor engine; fp32 on Trn1."""
    tiles.on_chip(x, "x", function).settle()
    check_square(x, function)
    x = lowering.in_sbuf(x)
    trace = current()
    dtype = x.dtype if trace.target.features.exact_transpose else float32
    result = trace.tile(x.shape[::-1], dtype, "psum")
    trace.builder.nc_transpose(result.access, x.access, "tensor")
    return result


def transpose(x, dtype=None, mask=None, memory="sbuf"):
    """x.T of a 2-D tile up to [128, 128]: nc_transpose in PSUM, then a copy if wanted."""
    tiles.on_chip(x, "x", "transpose").settle()
    check_square(x, "transpose")
    wanted = x.dtype if dtype is None else dtype_of(dtype)
    cut = None if mask is None else boxes(mask, x.shape)
    if cut is None:
        result = transposed(x)
        if memory == "psum" and result.dtype is wanted:
            return result
        return lowering.copy(result, wanted)
    made = current().tile(x.shape[::-1], wanted)
    for rows, columns in cut:
        part = transposed(x.narrow((rows, columns)))
        tiles.assign(made.narrow((columns, rows)), part)
    return made


def broadcast_to(x, shape, dtype=None):
    """x with dimensions of size 1 repeated; free dimensions move no element.

    One partition becomes many by a product with ones; integers by shuffles, which keep the bits.
    """
    tiles.on_chip(x, "src", "broadcast_to").settle()
    shape = tuple(int(size) for size in shape)
    wanted = x.dtype if dtype is None else dtype_of(dtype)
    if x.shape[0] == 1 and shape[0] > 1 and not x.dtype.is_float:
        result = _spread(x, shape)
    else:
        result = x if x.shape == shape else x.broadcast_to(shape)
    return result if wanted is result.dtype else lowering.copy(result, wanted)


def broadcast_partitions(tensor, sizes):
    """One partition repeated in all: a matrix product with a row of ones, [1, F] -> [P, F]."""
    if not tensor.dtype.is_float:
        return broadcast_to(tensor, sizes)
    trace = current()
    sizes = tuple(sizes)
    check_partitions(sizes[0])
    flat = tensor if len(tensor.shape) == 2 else tensor.reshape(1, tensor.size)
    free = flat.shape[1]
    ones = trace.constant((1, sizes[0]), flat.dtype, 1.0, "ones")
    result = trace.tile((sizes[0], free), tensor.dtype, name=f"{tensor.name}_broadcast")
    step = trace.target.product_columns
    for start in range(0, free, step):
        part = slice(start, min(start + step, free))
        product = trace.tile((sizes[0], part.stop - start), float32, "psum")
        trace.builder.nc_matmul(product.access, ones, flat[:, part].access)
        trace.builder.tensor_copy(result[:, part].access, product.access)
    shaped = result.reshape((sizes[0], *tensor.shape[1:]))
    return shaped.broadcast_to(sizes)


def _spread(x, shape):
    """One partition of any dtype in all of them: a shuffle per quadrant, which keeps the bits."""
    trace = current()
    made = trace.tile((shape[0], *x.shape[1:]), x.dtype)
    partitions = _core.QUADRANT_PARTITIONS
    for first in range(0, shape[0], partitions):
        quadrant = made[first : min(first + partitions, shape[0])]
        nc_stream_shuffle(quadrant, x, [0] * partitions)
    return made if made.shape == shape else made.broadcast_to(shape)


def expand_dims(x, axis):
    """A view with dimensions of size 1 at `axis`, after the partition dimension."""
    return x.expand_dims(axis)


def where(condition, x, y, dtype=None, mask=None):
    """x where condition, a tile or an index comparison, is not 0, else y: tiles or numbers.

    y is copied, then x is copied over it where the condition, as uint8, holds.
    """
    if isinstance(condition, bool):
        condition = Mask((Expression(int(condition) - 1, {}),))
    other = next((each for each in (x, y) if isinstance(each, Tensor)), None)
    condition = comparison_as_tile(condition, other, "where")
    tensors = [each for each in (condition, x, y) if isinstance(each, Tensor)]
    for tensor, name in ((condition, "condition"), (x, "x"), (y, "y")):
        if isinstance(tensor, Tensor):
            tiles.on_chip(tensor, name, "where").settle()
    values = [each.dtype if isinstance(each, Tensor) else each for each in (x, y)]
    given = [each for each in values if not isinstance(each, (int, float))] or values
    wanted = promote(*given) if dtype is None else dtype_of(dtype)
    shape = tensors[0].shape
    for tensor in tensors[1:]:
        names = ", ".join(each.describe() for each in tensors)
        shape = tiles.broadcast_shape(shape, tensor.shape, "where", names)
    spread = [
        each.broadcast_to(shape) if isinstance(each, Tensor) else each for each in (condition, x, y)
    ]
    return lowering.masked(lambda *parts: _chosen(wanted, *parts), wanted, mask, *spread)


def _chosen(dtype, condition, x, y):
    trace = current()
    made = trace.tile(condition.shape, dtype)
    tiles.assign(made, y)
    if condition.dtype.name not in ("uint8", "uint16", "uint32", "bool_"):
        truth = trace.tile(condition.shape, uint8)
        trace.builder.tensor_scalar(truth.access, condition.access, "not_equal", 0.0)
        condition = truth
    if isinstance(x, Tensor):
        if x.dtype is not dtype:
            x = lowering.copy(x, dtype).settle()
        elif x.memory == "psum" and condition.memory == "psum":
            x = lowering.in_sbuf(x)
    value = x.access if isinstance(x, Tensor) else float(x)
    trace.builder.tensor_copy_predicated(made.access, value, predicate_view(condition))
    return made


def dropout(x, rate, dtype=None, mask=None):
    """x with elements set to 0 with probability `rate`, a number or a tile [P, 1]."""
    tiles.on_chip(x, "x", "dropout").settle()
    wanted = x.dtype if dtype is None else dtype_of(dtype)

    def compute(part, chance):
        trace = current()
        made = trace.tile(part.shape, part.dtype)
        value = chance.access if isinstance(chance, Tensor) else float(chance)
        trace.builder.dropout(made.access, part.access, value)
        return made if wanted is part.dtype else lowering.copy(made, wanted)

    return lowering.masked(compute, wanted, mask, x, rate)


def gather_flattened(data, indices, dtype=None, mask=None):
    """[p, i...] = flat(data[p])[indices[p, i...]]: nc_n_gather on GpSimd, indices as uint32."""
    tiles.on_chip(data, "data", "gather_flattened").settle()
    tiles.on_chip(indices, "indices", "gather_flattened").settle()
    wanted = data.dtype if dtype is None else dtype_of(dtype)
    data = lowering.in_sbuf(data)

    def compute(places):
        trace = current()
        if places.dtype.name != "uint32" or places.memory == "psum":
            places = lowering.copy(places, dtype_of("uint32")).settle()
        made = trace.tile(places.shape, data.dtype)
        trace.builder.nc_n_gather(made.access, data.access, places.access)
        return made if wanted is data.dtype else lowering.copy(made, wanted)

    return lowering.masked(compute, wanted, mask, indices)


def outer_product(x, y, dtype=None):
    """[M, N] = x[m] * y[n], in fp32: y is a tile of one partition [1, N], x one [1, M], or a column
    [M, 1].

    A row of x is the stationary operand of a product with y, banks of PSUM at a time; a column
    scales y, repeated in its partitions.
    """
    for tile, operand in ((x, "x"), (y, "y")):
        tiles.on_chip(tile, operand, "outer_product").settle()
    rows = x.size
    if 1 not in x.shape[:2] or len(x.shape) != 2 or len(y.shape) != 2 or y.shape[0] != 1:
        raise ValueError(
            f"operands 'x' {list(x.shape)} and 'y' {list(y.shape)} of 'outer_product' must be a "
            "row [1, M] or a column [M, 1], and a row [1, N]."
        )
    check_stationary(x, rows, "outer_product")
    wanted = promote(x.dtype, y.dtype) if dtype is None else dtype_of(dtype)
    if x.shape[0] != 1 or rows == 1:
        return tiles.binary("multiply", y.broadcast_to((rows, y.shape[1])), x, wanted)
    x, y = lowering.in_sbuf(x), lowering.in_sbuf(y)

    def emit(dst):
        trace = current()
        columns = trace.target.product_columns
        for start in range(0, y.shape[1], columns):
            part = slice(start, min(start + columns, y.shape[1]))
            product = trace.tile((rows, part.stop - start), float32, "psum")
            trace.builder.nc_matmul(product.access, x.access, y[:, part].access)
            trace.builder.tensor_copy(dst[:, part].access, product.access)

    return current().result((rows, y.shape[1]), wanted, "sbuf", emit, explicit=dtype is not None)
