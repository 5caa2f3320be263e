"""nki.isa: activation functions of the Scalar engine, and exponential of the Vector engine.

fp32 inside, any dtype in and out. The accumulator of the engine is one fp32 register per partition
that instructions of the family share; reduce_cmd says what an instruction does with it, reduce_res
reads it out. `name` is for with_schedule.
"""

from .declared import declared
from .instruction import ACTIVATION


@declared(
    "dst op data bias scale reduce_op reduce_res reduce_cmd",
    plain=(ACTIVATION, 5),
    splits=True,
)
def activation():
    """dst = op(data * scale + bias) on the Scalar engine.

    data, dst: SBUF or PSUM, [P, free...]. bias: a tile [P, 1] of any dtype but tfloat32, a number
    (Trn2 and later) or None (0); scale: a number or an fp32 tile [P, 1]. reduce_op: None or nl.add,
    the sum over the free dimensions of dst into the accumulator; reduce_res: None or a tile [P, 1]
    that receives it (about 64 cycles more).
    """


@declared()
def activation_reduce():
    """dst = op(data * scale + bias); reduce_res = the sum of dst over its free dimensions.

    As activation with reduce_cmd.reset_reduce. reduce_op: nl.add; reduce_res: a tile [P, 1].
    """


@declared()
def activate2():
    """dst = op((data op0 imm0) op1 imm1, relu_param) on the Scalar engine of Trn3.

    (op0, op1): (multiply, add), (multiply, subtract), or multiply, add, subtract or nl.bypass
    before nl.bypass. imm0, imm1: numbers or tiles [P, 1] of one dtype. relu_param: the slope of
    nl.prelu. reduce_op: add, maximum, minimum, abs_max or abs_min.
    """


@declared()
def exponential():
    """dst = exp(src - max_value) on the Vector engine of Trn3, with a running sum.

    max_value, reduce_init: a number or an fp32 tile [P, 1]; reduce_res: None or a tile [P, 1].
    reduce_cmd: idle, reduce, reset_reduce or load_reduce (which starts at reduce_init).
    """
