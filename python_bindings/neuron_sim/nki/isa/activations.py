"""nki.isa: activation functions of the Scalar engine, and exponential of the Vector engine.

fp32 inside, any dtype in and out. The accumulator of the engine is one fp32 register per partition
that instructions of the family share; reduce_cmd says what an instruction does with it, reduce_res
reads it out. `name` is for with_schedule.
"""

from neuron_sim import _core

from ..tracing.instructions import ACTIVATION
from ..tracing.splitting import NotOnePattern, in_parts
from .constants import named
from .constants import reduce_cmd as reduce_commands
from .instruction import builder, emitted
from .operators import operand, operator_name

emit_plain = _core.emit_plain
_IDLE = reduce_commands.idle


def activation(
    dst,
    op,
    data,
    bias=None,
    scale=1.0,
    reduce_op=None,
    reduce_res=None,
    reduce_cmd=_IDLE,
    name=None,
):
    """dst = op(data * scale + bias) on the Scalar engine.

    data, dst: SBUF or PSUM, [P, free...]. bias: a tile [P, 1] of any dtype but tfloat32, a number
    (Trn2 and later) or None (0); scale: a number or an fp32 tile [P, 1]. reduce_op: None or nl.add,
    the sum over the free dimensions of dst into the accumulator; reduce_res: None or a tile [P, 1]
    that receives it (about 64 cycles more).
    """
    if reduce_cmd is _IDLE and reduce_res is None and reduce_op is None:
        offset = 0.0 if bias is None else bias
        handle = emit_plain(ACTIVATION, name, "totnn", dst, op, data, offset, scale)
        if handle is not None:
            return handle
        word, offset = operator_name(op), operand(offset)
        factor = operand(scale)
        try:
            builder().activation(dst.access, word, data.access, offset, factor)
        except NotOnePattern as error:

            def emit(to, part):
                builder().activation(to.access, word, part.access, offset, factor)

            in_parts(emit, dst, data, otherwise=error)
        return emitted(name)
    results = {} if reduce_res is None else {"reduce_res": reduce_res.access}
    builder().activation(
        dst.access,
        operator_name(op),
        data.access,
        0.0 if bias is None else operand(bias),
        operand(scale),
        reduce_op=operator_name(reduce_op, "reduce_op"),
        reduce_cmd=named(reduce_cmd, reduce_commands, "reduce_cmd"),
        **results,
    )
    return emitted(name)


def activation_reduce(dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0, name=None):
    """dst = op(data * scale + bias); reduce_res = the sum of dst over its free dimensions.

    As activation with reduce_cmd.reset_reduce. reduce_op: nl.add; reduce_res: a tile [P, 1].
    """
    builder().activation_reduce(
        dst.access,
        operator_name(op),
        data.access,
        operator_name(reduce_op, "reduce_op"),
        reduce_res.access,
        0.0 if bias is None else operand(bias),
        operand(scale),
    )
    return emitted(name)


def activate2(
    dst,
    op,
    data,
    imm0,
    imm1,
    op0,
    op1,
    relu_param=0.0,
    reverse0=False,
    reverse1=False,
    reduce_op=None,
    reduce_res=None,
    reduce_cmd=_IDLE,
    name=None,
):
    """dst = op((data op0 imm0) op1 imm1, relu_param) on the Scalar engine of Trn3.

    (op0, op1): (multiply, add), (multiply, subtract), or multiply, add, subtract or nl.bypass
    before nl.bypass. imm0, imm1: numbers or tiles [P, 1] of one dtype. relu_param: the slope of
    nl.prelu. reduce_op: add, maximum, minimum, abs_max or abs_min.
    """
    results = {} if reduce_res is None else {"reduce_res": reduce_res.access}
    builder().activate2(
        dst.access,
        operator_name(op),
        data.access,
        imm0=operand(imm0),
        imm1=operand(imm1),
        op0=operator_name(op0, "op0"),
        op1=operator_name(op1, "op1"),
        relu_param=operand(relu_param),
        reverse0=bool(reverse0),
        reverse1=bool(reverse1),
        reduce_op=operator_name(reduce_op, "reduce_op"),
        reduce_cmd=named(reduce_cmd, reduce_commands, "reduce_cmd"),
        **results,
    )
    return emitted(name)


def exponential(
    dst, src, max_value=0.0, reduce_res=None, reduce_cmd=_IDLE, reduce_init=0.0, name=None
):
    """dst = exp(src - max_value) on the Vector engine of Trn3, with a running sum.

    max_value, reduce_init: a number or an fp32 tile [P, 1]; reduce_res: None or a tile [P, 1].
    reduce_cmd: idle, reduce, reset_reduce or load_reduce (which starts at reduce_init).
    """
    results = {} if reduce_res is None else {"reduce_res": reduce_res.access}
    builder().exponential(
        dst.access,
        src.access,
        max_value=operand(max_value),
        reduce_cmd=named(reduce_cmd, reduce_commands, "reduce_cmd"),
        reduce_init=operand(reduce_init),
        **results,
    )
    return emitted(name)
