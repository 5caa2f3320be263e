"""neuronxcc.nki.isa: reductions, scans and statistics, which return their result.

Each is the instruction of nki.isa of the same name. `dtype`: of the result, the first
operand's unless given; `mask`: the part of the operands that takes part.
"""

from neuron_sim import _core
from neuron_sim.nki.isa import reductions as new
from neuron_sim.nki.isa.declared import FUNCTIONS
from neuron_sim.nki.isa.operators import operator_name
from neuron_sim.nki.lowering.reductions import kept_box, reduced_shape, reducible
from neuron_sim.nki.tracing import boxes, current, dtype_of, promote
from neuron_sim.nki.tracing.instructions import TENSOR_REDUCE
from neuron_sim.nki.tracing.operators import instruction_result

from .results import narrowed, refuse, result
from .scalar_operands import per_partition


def tensor_reduce(op, data, axis, *, mask=None, dtype=None, negate=False, keepdims=False, **kwargs):
    """op over the free dimensions `axis` of data, times -1 with `negate`."""
    if kwargs:
        refuse("tensor_reduce", kwargs)
    axes = new.reduced_axes(axis, len(data.shape))
    shape = reduced_shape(data.shape, axes, keepdims)
    rank = len(data.shape)
    if mask is None and axes[0] == rank - len(axes) and rank <= _core.MAXIMUM_RANK:
        operands = (data, operator_name(op), len(axes), bool(negate))
        return instruction_result(shape, dtype, data.dtype, None, TENSOR_REDUCE, *operands)
    cut = None if mask is None else boxes(mask, tuple(data.shape))

    def emit(dst):
        for box in (None,) if cut is None else cut:
            part = data if box is None else data.narrow(box)
            target = dst if box is None else dst.narrow(kept_box(box, axes, keepdims))
            ordered, count = reducible(part, axes)
            last = range(len(ordered.shape) - count, len(ordered.shape))
            new.tensor_reduce(target, op, ordered, last, negate)

    wanted = data.dtype if dtype is None else dtype_of(dtype)
    return current().result(shape, wanted, "sbuf", emit, explicit=dtype is not None)


def tensor_partition_reduce(op, data, *, mask=None, dtype=None, **kwargs):
    """op over the partitions of data: a tile of one partition."""
    if kwargs:
        refuse("tensor_partition_reduce", kwargs)
    shape = (1, *data.shape[1:])
    cut = None if mask is None else boxes(mask, tuple(data.shape))

    def emit(dst):
        for box in (None,) if cut is None else cut:
            target = dst if box is None else dst.narrow(((0, 1), *box[1:]))
            new.tensor_partition_reduce(target, op, narrowed(data, box) if box else data)

    wanted = data.dtype if dtype is None else dtype_of(dtype)
    return current().result(shape, wanted, "sbuf", emit, explicit=dtype is not None)


def tensor_scalar_reduce(
    *,
    data,
    op0,
    operand0,
    reduce_op,
    reduce_res,
    reverse0=False,
    dtype=None,
    mask=None,
    **kwargs,
):
    """data op0 operand0; reduce_res = reduce_op over the free dimensions, written in place."""
    if kwargs:
        refuse("tensor_scalar_reduce", kwargs)

    def emit(dst, part, value0, reduced):
        new.tensor_scalar_reduce(dst, part, op0, value0, reduce_op, reduced, reverse0)

    return result(
        data.shape, dtype, data.dtype, mask, emit, data, per_partition(operand0), reduce_res
    )


def tensor_tensor_scan(
    data0,
    data1,
    initial,
    op0,
    op1,
    reverse0=False,
    reverse1=False,
    *,
    dtype=None,
    mask=None,
    **kwargs,
):
    """The scan r = (data0[:, i] op0 r) op1 data1[:, i], starting at `initial`."""
    if kwargs:
        refuse("tensor_tensor_scan", kwargs)

    def emit(dst, first, second, start):
        new.tensor_tensor_scan(dst, first, second, start, op0, op1, reverse0, reverse1)

    default = promote(data0.dtype, data1.dtype)
    return result(data0.shape, dtype, default, mask, emit, data0, data1, initial)


def bn_stats(data, *, mask=None, dtype=None, **kwargs):
    """[P, 6]: count, mean and variance * count of even and of odd elements.

    ValueError when the mask touches the free dimension.
    """
    return _statistics("bn_stats", FUNCTIONS["bn_stats"], data, 6, mask, dtype, kwargs)


def bn_aggr(data, *, mask=None, dtype=None, **kwargs):
    """[P, 2]: mean and variance of triples as bn_stats writes them."""
    return _statistics("bn_aggr", FUNCTIONS["bn_aggr"], data, 2, mask, dtype, kwargs)


def _statistics(name, function, data, size, mask, dtype, kwargs):
    if kwargs:
        refuse(name, kwargs)
    cut = None if mask is None else boxes(mask, tuple(data.shape))

    def emit(dst):
        for box in (None,) if cut is None else cut:
            if box is None:
                function(dst, data)
            else:
                function(dst.narrow((box[0], (0, size))), data.narrow(box))

    wanted = data.dtype if dtype is None else dtype_of(dtype)
    shape = (data.shape[0], size)
    return current().result(shape, wanted, "sbuf", emit, explicit=dtype is not None)
