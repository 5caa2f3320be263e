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
from ..tracing.instructions import TENSOR_COPY, TENSOR_SCALAR, TENSOR_TENSOR
from ..tracing.splitting import NotOnePattern, in_parts
from .constants import engine as engines
from .constants import named
from .instruction import builder, emitted
from .operators import operand, operator_name, predicate_view

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


def tensor_tensor(dst, data1, data2, op, engine=engines.unknown, name=None):
    """dst = data1 op data2, element by element.

    data1, data2: SBUF or PSUM, not both PSUM. op: a binary operator; nl.power is on GpSimd.
    engine: vector or gpsimd; unknown puts operands that are all int32 or uint32 in SBUF on GpSimd,
    which computes them exactly.
    """
    if engine is _UNKNOWN:
        handle = emit_plain(TENSOR_TENSOR, name, "ttto", dst, data1, data2, op)
        if handle is not None:
            return handle
    word, where = operator_name(op), named(engine, engines, "engine")
    try:
        builder().tensor_tensor(dst.access, data1.access, data2.access, word, where)
    except NotOnePattern as error:

        def emit(to, first, second):
            builder().tensor_tensor(to.access, first.access, second.access, word, where)

        in_parts(emit, dst, data1, data2, otherwise=error)
    return emitted(name)


def tensor_scalar(
    dst,
    data,
    op0,
    operand0,
    reverse0=False,
    op1=None,
    operand1=None,
    reverse1=False,
    engine=engines.unknown,
    name=None,
):
    """dst = (data op0 operand0) op1 operand1; `reverse` swaps the sides of an operator.

    operand0, operand1: a number, or a tile [P, 1] of fp32 with one value per partition; None for
    unary operators. Both operators are bitwise or both are arithmetic. engine: vector, scalar
    (multiply, then add; Trn2 and later) or gpsimd (rsqrt).
    """
    if engine is _UNKNOWN and op1 is None and operand1 is None and operand0 is not None:
        handle = emit_plain(TENSOR_SCALAR, name, "ttonf", dst, data, op0, operand0, bool(reverse0))
        if handle is not None:
            return handle
    settings = (
        operator_name(op0, "op0"),
        0.0 if operand0 is None else operand(operand0),
        bool(reverse0),
        "" if op1 is None else operator_name(op1, "op1"),
        0.0 if operand1 is None else operand(operand1),
        bool(reverse1),
        named(engine, engines, "engine"),
    )
    try:
        builder().tensor_scalar(dst.access, data.access, *settings)
    except NotOnePattern as error:

        def emit(to, part):
            builder().tensor_scalar(to.access, part.access, *settings)

        in_parts(emit, dst, data, otherwise=error)
    return emitted(name)


def scalar_tensor_tensor(
    dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False, name=None
):
    """dst = (data op0 operand0) op1 operand1 on the Vector engine.

    operand0: a number or a tile [P, 1]; operand1: a tile like data, not both in PSUM. Arithmetic
    operators only.
    """
    first, second = operator_name(op0, "op0"), operator_name(op1, "op1")
    column, sides = operand(operand0), (bool(reverse0), bool(reverse1))

    def emit(to, part, other):
        builder().scalar_tensor_tensor(
            to.access, part.access, first, column, second, other.access, *sides
        )

    try:
        emit(dst, data, operand1)
    except NotOnePattern as error:
        in_parts(emit, dst, data, operand1, otherwise=error)
    return emitted(name)


def reciprocal(dst, data, name=None):
    """dst = 1 / data on the Vector engine. SBUF or PSUM."""
    try:
        builder().reciprocal(dst.access, data.access)
    except NotOnePattern as error:
        in_parts(reciprocal, dst, data, otherwise=error)
    return emitted(name)


def memset(dst, value, engine=engines.unknown, name=None):
    """dst = value in every element. dst: SBUF or PSUM (GpSimd: SBUF); packed dtypes take 0 only.

    engine: vector or gpsimd.
    """
    try:
        builder().memset(dst.access, float(value), named(engine, engines, "engine"))
    except NotOnePattern as error:
        in_parts(lambda to: memset(to, value, engine), dst, otherwise=error)
    return emitted(name)


def tensor_copy_predicated(dst, src, predicate, reverse_pred=False, name=None):
    """dst = src where predicate is not 0; the other elements of dst are unchanged.

    src: a number or a tile of the dtype of dst; predicate: uint8, uint16 or uint32 of the shape
    of dst; src and predicate not both in PSUM. reverse_pred: where predicate is 0.
    """

    def emit(to, source, where):
        builder().tensor_copy_predicated(
            to.access, operand(source), predicate_view(where), bool(reverse_pred)
        )

    try:
        emit(dst, src, predicate)
    except NotOnePattern as error:
        in_parts(emit, dst, src, predicate, otherwise=error)
    return emitted(name)


def dropout(dst, data, prob, name=None):
    """dst = 0 with probability `prob`, else data (not rescaled), on the Vector engine.

    prob: a number or a tile [P, 1]. dst has the dtype of data.
    """
    builder().dropout(dst.access, data.access, operand(prob))
    return emitted(name)
