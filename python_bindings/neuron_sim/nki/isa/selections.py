"""nki.isa: selections by predicate, by range and by affine index patterns, and iota.

`name` is for with_schedule. Vector engine: SBUF or PSUM; GpSimd: SBUF.
"""

import numpy as np

from .declared import declared

#: The value of unselected elements: the most negative finite fp32, bits 0xff7fffff.
FP32_MIN = float(np.finfo(np.float32).min)


@declared()
def select_reduce():
    """dst = on_true where predicate is not 0, else on_false; reduce_res = the maximum of dst.

    on_true: a tile of the shape of dst; predicate: int8, uint8, int16 or uint16, not both in
    PSUM; on_false: a number or an fp32 tile [P, 1]. reduce_op: nl.maximum; reduce_cmd and
    reduce_res ([P, 1]) as in tensor_scalar_reduce. Vector engine.
    """


@declared()
def range_select():
    """dst = on_true_tile where (i comp_op0 bound0) & (i comp_op1 bound1), else the fp32 minimum.

    i = range_start + the index of an element in its partition, below 2^24. bound0, bound1: fp32
    tiles [P, 1]; comp_op: equal, less, less_equal, greater, greater_equal. reduce_res [P, 1]: the
    maximum of dst per partition. Vector engine of Trn2 and later.
    """


@declared()
def affine_select():
    """dst = on_true_tile where (a cmp_op 0), else on_false_value, on GpSimd.

    a = offset + p * channel_multiplier + i0 * step0 + i1 * step1 + ... in int32, for element
    (i0, i1, ...) of partition p; pattern: [[step, size], ...], up to four, whose sizes multiply to
    the elements of a partition. on_false_value: an fp32 number.
    """


@declared()
def iota():
    """dst[p, i0, i1, ...] = offset + p * channel_multiplier + i0 * step0 + i1 * step1 + ...

    In int32, then cast to the dtype of dst. pattern: [[step, size], ...], up to four. GpSimd.
    """
