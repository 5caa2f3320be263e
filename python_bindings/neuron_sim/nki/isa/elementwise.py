"""nki.isa: copies and element-wise operators of the Vector, Scalar and GpSimd engines.

Every function writes its first parameter `dst`; tiles are [partitions, free...] with at most 128
partitions, and all tiles of an instruction have the same partitions and elements per partition.
Arithmetic is in fp32 with one rounding to the dtype of `dst`; bitwise operators keep the bits of
integers. Tiles that no access pattern names (negative steps, more than four free dimensions) take
several instructions. `name` only names the instruction for Kernel.with_schedule.
ValueError and TypeError of the builder name instruction, operand, value and limit.
"""

from neuron_sim import _core

from ..tracing.dtypes import dtype_of
from .constants import engine as engines
from .constants import named
from .declared import declared
from .instruction import TENSOR_COPY, TENSOR_SCALAR, TENSOR_TENSOR, builder, emitted
from .splitting import NotOnePattern, in_parts

emit_plain = _core.emit_plain
_UNKNOWN = engines.unknown


def tensor_copy(dst, src, engine=engines.unknown, name=None, dtype=None):
    """dst = src, cast to the dtype of dst; bit-exact when the dtypes are equal.

    dst, src: SBUF or PSUM tiles (GpSimd: SBUF only). engine: vector, scalar or gpsimd. dtype, of
    early releases: any dtype, without effect; TypeError for anything else.
    """
    if dtype is not None:
        dtype_of(dtype)
    if engine is _UNKNOWN:
        handle = emit_plain(TENSOR_COPY, name, "tt", dst, src)
        if handle is not None:
            return handle
    try:
        builder().tensor_copy(dst.access, src.access, named(engine, engines, "engine"))
    except NotOnePattern as error:
        in_parts(lambda to, part: tensor_copy(to, part, engine), dst, src, otherwise=error)
    return emitted(name)


@declared("dst data1 data2 op engine", plain=(TENSOR_TENSOR, 4), splits=True)
def tensor_tensor():
    """dst = data1 op data2, element by element.

    data1, data2: SBUF or PSUM, not both PSUM. op: a binary operator; nl.power is on GpSimd.
    engine: vector or gpsimd; unknown puts operands that are all int32 or uint32 in SBUF on GpSimd,
    which computes them exactly.
    """


@declared(
    "dst data op0 operand0! reverse0 op1 operand1 reverse1 engine",
    plain=(TENSOR_SCALAR, 5),
    splits=True,
)
def tensor_scalar():
    """dst = (data op0 operand0) op1 operand1; `reverse` swaps the sides of an operator.

    operand0, operand1: a number, or a tile [P, 1] of fp32 with one value per partition; None for
    unary operators. Both operators are bitwise or both are arithmetic. engine: vector, scalar
    (multiply, then add; Trn2 and later) or gpsimd (rsqrt).
    """


@declared(splits=True)
def scalar_tensor_tensor():
    """dst = (data op0 operand0) op1 operand1 on the Vector engine.

    operand0: a number or a tile [P, 1]; operand1: a tile like data, not both in PSUM. Arithmetic
    operators only.
    """


@declared(splits=True)
def reciprocal():
    """dst = 1 / data on the Vector engine. SBUF or PSUM."""


@declared("dst value engine", splits=True)
def memset():
    """dst = value in every element. dst: SBUF or PSUM (GpSimd: SBUF); packed dtypes take 0 only.

    engine: vector or gpsimd.
    """


@declared(splits=True, src="operand(src)")
def tensor_copy_predicated():
    """dst = src where predicate is not 0; the other elements of dst are unchanged.

    src: a number or a tile of the dtype of dst; predicate: uint8, uint16 or uint32 of the shape
    of dst; src and predicate not both in PSUM. reverse_pred: where predicate is 0.
    """


@declared()
def dropout():
    """dst = 0 with probability `prob`, else data (not rescaled), on the Vector engine.

    prob: a number or a tile [P, 1]. dst has the dtype of data.
    """
