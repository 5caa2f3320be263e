"""neuronxcc.nki.isa: copies and element-wise operators, which return their result.

Each is the instruction of nki.isa of the same name. `dtype`: of the result, the first
operand's unless given; `mask`: the part of the tiles that takes part.
"""

from neuron_sim import _core
from neuron_sim.nki.isa.constants import named
from neuron_sim.nki.isa.instruction import (
    MEMSET,
    RECIPROCAL,
    SCALAR_TENSOR_TENSOR,
    TENSOR_COPY,
    TENSOR_SCALAR,
    TENSOR_TENSOR,
)
from neuron_sim.nki.isa.operators import operator_name, tile_or_number
from neuron_sim.nki.lowering.tiles import instruction_result
from neuron_sim.nki.tracing import promote

from .constants import engine as engines
from .results import refuse
from .returned import returned
from .scalar_operands import per_partition

plain_result = _core.plain_result
_UNKNOWN = engines.unknown


def tensor_copy(src, *, mask=None, dtype=None, engine=engines.unknown, **kwargs):
    """A copy of `src` in SBUF, or in the tile it is assigned to."""
    if kwargs:
        refuse("tensor_copy", kwargs)
    word = "auto" if engine is _UNKNOWN else named(engine, engines, "engine")
    return instruction_result(src.shape, dtype, src.dtype, mask, TENSOR_COPY, src, word)


def _repeated(tile, other):
    """A tile [P, 1] with the free dimensions of another; any other tile unchanged."""
    partitions = tile.shape[0]
    if tile.size != partitions or partitions != other.shape[0] or other.size == partitions:
        return tile
    column = tile.reshape((partitions, *(1 for _ in other.shape[1:])))
    return column.broadcast_to(other.shape)


def _pair(data1, data2, op, word, dtype=None, mask=None):
    if data1.shape != data2.shape:
        data1, data2 = _repeated(data1, data2), _repeated(data2, data1)
    default = data1.dtype if data1.dtype is data2.dtype else promote(data1.dtype, data2.dtype)
    operands = (data1, data2, operator_name(op), word)
    return instruction_result(data1.shape, dtype, default, mask, TENSOR_TENSOR, *operands)


def tensor_tensor(data1, data2, op, *, dtype=None, mask=None, engine=engines.unknown, **kwargs):
    """data1 op data2, of the promoted dtype unless `dtype` is given; one with a single element per
    partition is repeated along the other."""
    if kwargs:
        refuse("tensor_tensor", kwargs)
    if engine is _UNKNOWN and dtype is None and mask is None:
        return plain_result(TENSOR_TENSOR, "tlow", _pair, data1, data2, op, "auto")
    word = "auto" if engine is _UNKNOWN else named(engine, engines, "engine")
    return _pair(data1, data2, op, word, dtype, mask)


def _scalar(data, op0, operand0, reverse0=False, *second, word="auto", dtype=None, mask=None):
    op1, operand1, reverse1 = second or (None, None, False)
    operands = (
        data,
        operator_name(op0, "op0"),
        0.0 if operand0 is None else per_partition(operand0),
        bool(reverse0),
        "" if op1 is None else operator_name(op1, "op1"),
        0.0 if operand1 is None else per_partition(operand1),
        bool(reverse1),
        word,
    )
    return instruction_result(data.shape, dtype, data.dtype, mask, TENSOR_SCALAR, *operands)


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
    second = (op1, operand1, reverse1)
    if engine is _UNKNOWN and dtype is None and mask is None and not (reverse0 or reverse1):
        if op1 is None and operand1 is None:
            return plain_result(TENSOR_SCALAR, "tos", _scalar, data, op0, operand0)
        return plain_result(TENSOR_SCALAR, "tosfos", _scalar, data, op0, operand0, False, *second)
    word = "auto" if engine is _UNKNOWN else named(engine, engines, "engine")
    return _scalar(data, op0, operand0, reverse0, *second, word=word, dtype=dtype, mask=mask)


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
    operands = (
        data,
        operator_name(op0, "op0"),
        tile_or_number(operand0),
        operator_name(op1, "op1"),
        operand1,
        bool(reverse0),
        bool(reverse1),
    )
    return instruction_result(data.shape, dtype, data.dtype, mask, SCALAR_TENSOR_TENSOR, *operands)


def reciprocal(data, *, dtype=None, mask=None, **kwargs):
    """1 / data on the Vector engine."""
    if kwargs:
        refuse("reciprocal", kwargs)
    return instruction_result(data.shape, dtype, data.dtype, mask, RECIPROCAL, data)


def memset(shape, value, dtype, *, mask=None, engine=engines.unknown, **kwargs):
    """A tile of `shape` whose elements are `value`; dimension 0 is the partition dimension."""
    if kwargs:
        refuse("memset", kwargs)
    operands = (float(value), "auto" if engine is _UNKNOWN else named(engine, engines, "engine"))
    return instruction_result(tuple(map(int, shape)), dtype, None, mask, MEMSET, *operands)


@returned(2)
def dropout():
    """data with elements set to 0 with probability `prob`, a number or a tile [P, 1]."""


@returned(order="src dst predicate reverse_pred")
def tensor_copy_predicated():
    """dst = src where predicate is not 0 (0, with reverse_pred); the rest of dst is unchanged."""
