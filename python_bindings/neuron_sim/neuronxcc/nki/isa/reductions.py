"""neuronxcc.nki.isa: reductions, scans and statistics, which return their result.

Each is the instruction of nki.isa of the same name. `dtype`: of the result, the first
operand's unless given; `mask`: the part of the operands that takes part.
"""

from neuron_sim import _core
from neuron_sim.nki.isa import reductions as new
from neuron_sim.nki.isa.instruction import TENSOR_REDUCE
from neuron_sim.nki.isa.operators import operator_name
from neuron_sim.nki.lowering.reductions import kept_box, reduced_shape, reducible
from neuron_sim.nki.lowering.tiles import instruction_result
from neuron_sim.nki.tracing import boxes, current, dtype_of

from .results import refuse
from .returned import returned


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


@returned(2, shape="(1, *data.shape[1:])")
def tensor_partition_reduce():
    """op over the partitions of data: a tile of one partition."""


@returned(order="data op0 operand0 reduce_op reduce_res! reverse0")
def tensor_scalar_reduce():
    """data op0 operand0; reduce_res = reduce_op over the free dimensions, written in place."""


@returned(7, dtype="promote(data0.dtype, data1.dtype)")
def tensor_tensor_scan():
    """The scan r = (data0[:, i] op0 r) op1 data1[:, i], starting at `initial`."""


@returned(1, shape="(data.shape[0], 6)")
def bn_stats():
    """[P, 6]: count, mean and variance * count of even and of odd elements.

    ValueError when the mask touches the free dimension.
    """


@returned(1, shape="(data.shape[0], 2)")
def bn_aggr():
    """[P, 2]: mean and variance of triples as bn_stats writes them."""
