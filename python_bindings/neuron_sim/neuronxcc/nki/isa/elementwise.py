"""neuronxcc.nki.isa: copies and element-wise operators, which return their result.

Each is the instruction of nki.isa of the same name. `dtype`: of the result, that of the first
operand unless given; `mask`: the part of the tiles that takes part.
"""

from neuron_sim.nki.isa import elementwise as new
from neuron_sim.nki.tracing import promote

from .constants import engine as engines
from .results import in_place, refuse, result


def tensor_copy(src, *, mask=None, dtype=None, engine=engines.unknown, **kwargs):
    """A copy of `src` in SBUF, or in the tile it is assigned to."""
    if kwargs:
        refuse("tensor_copy", kwargs)

    def emit(dst, part):
        new.tensor_copy(dst, part, engine)

    return result(src.shape, dtype, src.dtype, mask, emit, src)


def tensor_tensor(data1, data2, op, *, dtype=None, mask=None, engine=engines.unknown, **kwargs):
    """data1 op data2, of the promoted dtype unless `dtype` is given."""
    if kwargs:
        refuse("tensor_tensor", kwargs)

    def emit(dst, first, second):
        new.tensor_tensor(dst, first, second, op, engine)

    default = data1.dtype if data1.dtype is data2.dtype else promote(data1.dtype, data2.dtype)
    return result(data1.shape, dtype, default, mask, emit, data1, data2)


def tensor_scalar(
    data,
    op0,
    operand0,
    reverse0=False,
    op1=None,
    operand1=None,
    reverse1=False,
    *,
    dtype=None,
    mask=None,
    engine=engines.unknown,
    **kwargs,
):
    """(data op0 operand0) op1 operand1; operands are numbers or tiles [P, 1]."""
    if kwargs:
        refuse("tensor_scalar", kwargs)

    def emit(dst, part, value0, value1):
        new.tensor_scalar(dst, part, op0, value0, reverse0, op1, value1, reverse1, engine)

    return result(data.shape, dtype, data.dtype, mask, emit, data, operand0, operand1)


def scalar_tensor_tensor(
    *,
    data,
    op0,
    operand0,
    op1,
    operand1,
    reverse0=False,
    reverse1=False,
    dtype=None,
    mask=None,
    **kwargs,
):
    """(data op0 operand0) op1 operand1, with operand0 a number or [P, 1] and operand1 a tile."""
    if kwargs:
        refuse("scalar_tensor_tensor", kwargs)

    def emit(dst, part, value0, value1):
        new.scalar_tensor_tensor(dst, part, op0, value0, op1, value1, reverse0, reverse1)

    return result(data.shape, dtype, data.dtype, mask, emit, data, operand0, operand1)


def reciprocal(data, *, dtype=None, mask=None, **kwargs):
    """1 / data on the Vector engine."""
    if kwargs:
        refuse("reciprocal", kwargs)
    return result(data.shape, dtype, data.dtype, mask, new.reciprocal, data)


def memset(shape, value, dtype, *, mask=None, engine=engines.unknown, **kwargs):
    """A tile of `shape` whose elements are `value`; dimension 0 is the partition dimension."""
    if kwargs:
        refuse("memset", kwargs)

    def emit(dst):
        new.memset(dst, value, engine)

    return result(tuple(map(int, shape)), dtype, None, mask, emit)


def dropout(data, prob, *, mask=None, dtype=None, **kwargs):
    """data with elements set to 0 with probability `prob`, a number or a tile [P, 1]."""
    if kwargs:
        refuse("dropout", kwargs)
    return result(data.shape, dtype, data.dtype, mask, new.dropout, data, prob)


def tensor_copy_predicated(
    *, src, dst, predicate, reverse_pred=False, mask=None, dtype=None, **kwargs
):
    """dst = src where predicate is not 0 (0, with reverse_pred); the rest of dst stays."""
    if kwargs:
        refuse("tensor_copy_predicated", kwargs)

    def emit(target, source, where):
        new.tensor_copy_predicated(target, source, where, reverse_pred)

    in_place(dst.shape, mask, emit, dst, src, predicate)
