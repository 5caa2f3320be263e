"""nki.isa: reductions, scans and statistics along the free dimensions (Vector), or partitions.

Tiles are [P, free...] in SBUF or PSUM; arithmetic is in fp32, in the order of the elements, with
one rounding to the dtype of dst. `name` is for with_schedule.
"""

from neuron_sim import _core

from ..tracing.control_flow.control import number_of
from .declared import declared
from .instruction import builder, emitted
from .operators import operator_name


def reduced_axes(axis, rank, instruction="tensor_reduce"):
    """The dimensions that `axis` (an int or ints, negative ones from the end) names, ascending.

    ValueError unless they are free dimensions of a tile of `rank` dimensions, each once.
    """
    if type(axis) is int and 0 < axis < rank:
        return (axis,)
    axes = tuple(axis) if isinstance(axis, (tuple, list, range)) else (axis,)
    named = sorted({index + rank if index < 0 else index for index in map(number_of, axes)})
    if not named or len(named) != len(axes) or named[0] < 1 or named[-1] >= rank:
        names = ", ".join(map(str, axes))
        raise ValueError(
            f"axis ({names}) of '{instruction}' must name free dimensions of operand 'data', which "
            f"has {rank} dimensions; axis 0 (the partition axis) cannot be reduced."
        )
    return tuple(named)


def with_axes_last(data, axes):
    """data with its dimensions `axes` after the others: another order of the same pattern."""
    rank = len(data.shape)
    if axes[0] == rank - len(axes):
        return data
    return data.permute((*(d for d in range(rank) if d not in axes), *axes))


def in_groups(data, count):
    """(data, count) for a reduction of its last `count` dimensions, when it has more than five.

    Adjacent dimensions that stay are merged where the pattern allows it, and so are those that are
    reduced.
    """
    if len(data.shape) <= _core.MAXIMUM_RANK:
        return data, count
    split = len(data.shape) - count
    pairs = list(zip(data.steps, data.shape, strict=True))
    kept, gone = _core.merged(pairs[1:split]), _core.merged(pairs[split:])
    steps, shape = zip(pairs[0], *kept, *gone, strict=True)
    result = data.derived(shape, steps, data.axis, data.partition, data.start)
    return result, len(gone)


def tensor_reduce(dst, op, data, axis, negate=False, keepdims=False, name=None):
    """dst = op over the free dimensions `axis` of data, times -1 with `negate`.

    axis: an int or ints. op: nl.add, subtract, multiply, maximum, minimum, logical_and, _or, _xor,
    and bitwise_and, _or, _xor on integers. dst: as many elements as the other dimensions have,
    with or without dimensions of size 1 (keepdims). Dimensions before others that stay are
    reduced through a pattern that has them last.
    """
    axes = reduced_axes(axis, len(data.shape))
    word = operator_name(op)
    data, count = in_groups(with_axes_last(data, axes), len(axes))
    builder().tensor_reduce(dst.access, data.access, word, count, bool(negate))
    return emitted(name)


@declared()
def tensor_partition_reduce():
    """dst[0, f] = op over the partitions p of data[p, f], on GpSimd. SBUF only.

    op: nl.add, maximum, bitwise_or, bitwise_and, or nl.average (the sum divided by P).
    """


@declared(reduce_init="initial_value(reduce_init, reduce_cmd)")
def tensor_scalar_reduce():
    """dst = data op0 operand0; reduce_res = reduce_op over the free dimensions of dst.

    operand0: a number or an fp32 tile [P, 1]. reduce_op: add, multiply, maximum or minimum.
    reduce_cmd: reset_reduce, reduce (continues with the engine's accumulator) or load_reduce
    (starts at reduce_init). reduce_res: a tile [P, 1]; reduce_res_negate writes its negative.
    """


@declared(imm1="initial_value(imm1, reduce_cmd)")
def tensor_scalar_cumulative():
    """dst[:, i] = op1(op0(src[:, i], imm0), dst[:, i - 1]): a running op1.

    imm0, imm1: a number or an fp32 tile [P, 1]; imm1: where load_reduce starts. op1: add,
    subtract, multiply, maximum or minimum. Not for int32 and uint32.
    """


@declared("dst data0 data1 initial! op0! op1! reverse0 reverse1")
def tensor_tensor_scan():
    """dst[:, i] = (data0[:, i] op0 dst[:, i - 1]) op1 data1[:, i], and `initial` before element 0.

    data0, data1: not both in PSUM. initial: a number or a tile [P, 1]. `reverse` swaps the sides
    of an operator. Two cycles per element.
    """
