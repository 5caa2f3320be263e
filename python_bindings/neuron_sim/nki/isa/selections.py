"""nki.isa: selections by predicate, by range and by affine index patterns, and iota.

`name` is for with_schedule. Vector engine: SBUF or PSUM; GpSimd: SBUF.
"""

import numpy as np

from .constants import named
from .constants import reduce_cmd as reduce_commands
from .instruction import builder, emitted
from .operators import operand, operator_name, predicate_view

#: The value of unselected elements: the most negative finite fp32, bits 0xff7fffff.
FP32_MIN = float(np.finfo(np.float32).min)


def select_reduce(
    dst,
    predicate,
    on_true,
    on_false,
    reduce_res=None,
    reduce_cmd=reduce_commands.idle,
    reduce_op=np.maximum,
    reverse_pred=False,
    name=None,
):
    """dst = on_true where predicate is not 0, else on_false; reduce_res = the maximum of dst.

    on_true: a tile of the shape of dst; predicate: int8, uint8, int16 or uint16, not both in
    PSUM; on_false: a number or an fp32 tile [P, 1]. reduce_op: nl.maximum; reduce_cmd and
    reduce_res ([P, 1]) as in tensor_scalar_reduce. Vector engine.
    """
    results = {} if reduce_res is None else {"reduce_res": reduce_res.access}
    builder().select_reduce(
        dst.access,
        predicate_view(predicate),
        on_true.access,
        on_false=operand(on_false),
        reduce_cmd=named(reduce_cmd, reduce_commands, "reduce_cmd"),
        reduce_op=operator_name(reduce_op, "reduce_op"),
        reverse_pred=bool(reverse_pred),
        **results,
    )
    return emitted(name)


def range_select(
    dst,
    on_true_tile,
    comp_op0,
    comp_op1,
    bound0,
    bound1,
    reduce_cmd=reduce_commands.reset_reduce,
    reduce_res=None,
    reduce_op=np.maximum,
    range_start=0,
    on_false_value=FP32_MIN,
    name=None,
):
    """dst = on_true_tile where (i comp_op0 bound0) & (i comp_op1 bound1), else the fp32 minimum.

    i = range_start + the index of an element in its partition, below 2^24. bound0, bound1: fp32
    tiles [P, 1]; comp_op: equal, less, less_equal, greater, greater_equal. reduce_res [P, 1]: the
    maximum of dst per partition. Vector engine of Trn2 and later.
    """
    results = {} if reduce_res is None else {"reduce_res": reduce_res.access}
    builder().range_select(
        dst.access,
        on_true_tile.access,
        comp_op0=operator_name(comp_op0, "comp_op0"),
        comp_op1=operator_name(comp_op1, "comp_op1"),
        bound0=bound0.access,
        bound1=bound1.access,
        reduce_cmd=named(reduce_cmd, reduce_commands, "reduce_cmd"),
        reduce_op=operator_name(reduce_op, "reduce_op"),
        range_start=int(range_start),
        on_false_value=float(on_false_value),
        **results,
    )
    return emitted(name)


def index_pattern(pattern):
    """[[step, size], ...] as the builder takes it."""
    return [(int(step), int(size)) for step, size in pattern]


def affine_select(
    dst,
    pattern,
    channel_multiplier,
    on_true_tile,
    on_false_value,
    cmp_op=np.equal,
    offset=0,
    name=None,
):
    """dst = on_true_tile where (a cmp_op 0), else on_false_value, on GpSimd.

    a = offset + p * channel_multiplier + i0 * step0 + i1 * step1 + ... in int32, for element
    (i0, i1, ...) of partition p; pattern: [[step, size], ...], up to four, whose sizes multiply to
    the elements of a partition. on_false_value: an fp32 number.
    """
    builder().affine_select(
        dst.access,
        pattern=index_pattern(pattern),
        channel_multiplier=int(channel_multiplier),
        on_true_tile=on_true_tile.access,
        on_false_value=float(on_false_value),
        cmp_op=operator_name(cmp_op, "cmp_op"),
        offset=int(offset),
    )
    return emitted(name)


def iota(dst, pattern, offset=0, channel_multiplier=0, name=None):
    """dst[p, i0, i1, ...] = offset + p * channel_multiplier + i0 * step0 + i1 * step1 + ...

    In int32, then cast to the dtype of dst. pattern: [[step, size], ...], up to four. GpSimd.
    """
    builder().iota(dst.access, index_pattern(pattern), int(offset), int(channel_multiplier))
    return emitted(name)
