"""Instructions of one or two tiles: copies, assignments, arithmetic of tiles and numbers."""

from typing import Any

from neuron_sim import _core

from ..isa.instruction import MEMSET, TENSOR_COPY, TENSOR_SCALAR, TENSOR_TENSOR
from ..tracing import Expression, Tensor, current, dtypes, methods
from ..tracing.dtypes import DType, promote
from ..tracing.mask import InBoxes

instruction_result = _core.instruction_result
PLAIN = frozenset(("add", "subtract", "multiply"))
"""Operators that are one instruction, whose result has the dtype of operands of one dtype."""

_COMPARISONS = frozenset(
    ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    + ("logical_and", "logical_or", "logical_xor")
)


def on_chip(tensor: Tensor, operand: str, instruction: str) -> Tensor:
    """err_unsupported_memory for an HBM tensor."""
    if tensor.axis is None:
        raise ValueError(
            f"Expected operand '{operand}' of '{instruction}' to be in address space 'psum|sbuf', "
            "but got a tile in 'hbm' instead."
        )
    return tensor


def broadcast_shape(a: tuple, b: tuple, instruction: str, names: str) -> tuple:
    """The shape of two tiles together: partitions equal, free dimensions broadcast."""
    if a == b:
        return a
    rank = max(len(a), len(b))
    first = a[:1] + (1,) * (rank - len(a)) + a[1:]
    second = b[:1] + (1,) * (rank - len(b)) + b[1:]
    if first[0] != second[0]:
        raise ValueError(
            "number of partitions (dimension 0 size of a tile) mismatch in parameters "
            f"({names}) of '{instruction}'"
        )
    shape = []
    for one, other in zip(first, second, strict=True):
        if one != other and one != 1 and other != 1:
            raise ValueError(f"shapes of parameters ({names}) of '{instruction}' do not broadcast.")
        shape.append(other if one == 1 else one)
    return tuple(shape)


def copy(src: Tensor, dtype: DType | None = None, mask: Any = None) -> Tensor:
    """A new SBUF tile with the elements of a tile."""
    on_chip(src, "src", "copy")
    return instruction_result(src.shape, dtype, src.dtype, mask, TENSOR_COPY, src)


def assign(target: Tensor, value: Any) -> None:
    """target[...] = value: a number fills, a tile is copied and its free dimensions broadcast; of a
    result that is not written yet, what its mask leaves."""
    cut = None
    if isinstance(value, Tensor) and value.storage is None:
        emit = getattr(value.pending, "emit", None)
        cut = emit.cut if type(emit) is InBoxes else None
        value.settle()
    if cut is not None and target.shape[0] == value.shape[0] and target.size == value.size:
        try:
            whole = target.reshape(value.shape)
        except ValueError:  # no boxes of the value are boxes of the target
            assign(target, value)
            return
        for box in cut:
            assign(whole.narrow(box), value.narrow(box))
        return
    if target.axis is None:
        raise ValueError(
            f"tensor `{target.name}` is in hbm, which an assignment cannot write; "
            "use nl.store or nisa.dma_copy."
        )
    trace = current()
    target.storage.written = True
    if isinstance(value, Expression):
        value = value.as_number()
    if not isinstance(value, Tensor):
        is_reached = starts_engine(target)  # else by a DMA from a tile that is
        filled = target if is_reached else trace.tile(target.shape, target.dtype, name=target.name)
        MEMSET(filled, float(value))
        if not is_reached:
            trace.builder.dma_copy(target.access, filled.access)
        return
    on_chip(value, "src", "copy")
    if value.storage is target.storage and methods.same_elements(target, value):
        return
    TENSOR_COPY(target, fitted(target, value))


def starts_engine(tensor: Tensor) -> bool:
    """Whether engines can start at a tile's first partition; elsewhere only DMA reaches it."""
    start = 0 if tensor.memory == "psum" else tensor.partition
    return type(start) is not int or start % _core.QUADRANT_PARTITIONS == 0


def fitted(target: Tensor, value: Tensor) -> Tensor:
    """The value broadcast to the shape of an assignment's target."""
    value.settle()
    if value.shape == target.shape:
        return value
    try:
        if value.size == target.size and value.shape[0] == target.shape[0]:
            return value.reshape(target.shape)
        return value.broadcast_to(target.shape)
    except ValueError:
        raise ValueError(
            f"Illegal assignment destination shape in 'a = b': shape {list(target.shape)} of "
            f"parameter 'a' is smaller than other parameter shapes b{list(value.shape)}."
        ) from None


def binary(op: str, a: Any, b: Any, dtype: Any = None, mask: Any = None,
           name: str | None = None) -> Tensor:  # fmt: skip
    """a op b of tiles and numbers (at least one tile), elementwise on the Vector engine.

    A number or an fp32 tile [P, 1] with a wider tile is a tensor_scalar, else tensor_tensor.
    `op` is the device's name; `dtype` the result's: the promoted one, bool for comparisons,
    float32 for a quotient of integers.
    """
    instruction = name or op
    if not isinstance(a, Tensor):
        return with_scalar(op, b, number_of(a), True, dtype, mask)
    if not isinstance(b, Tensor):
        return with_scalar(op, a, number_of(b), False, dtype, mask)
    on_chip(a, "x", instruction).settle()
    on_chip(b, "y", instruction).settle()
    if a.shape[0] != b.shape[0]:
        a, b = _with_partitions(a, b), _with_partitions(b, a)
    shape = a.shape
    if shape != b.shape:
        names = f"x{list(a.shape)}, y{list(b.shape)}"
        shape = broadcast_shape(a.shape, b.shape, instruction, names)
        if len(shape) >= 2:
            if b.size == b.shape[0] and a.shape == shape and b.dtype is dtypes.float32:
                return with_scalar(op, a, b, False, dtype, mask)
            if a.size == a.shape[0] and b.shape == shape and a.dtype is dtypes.float32:
                return with_scalar(op, b, a, True, dtype, mask)
        a, b = a.broadcast_to(shape), b.broadcast_to(shape)
    default = _result_dtype(op, a.dtype, b.dtype)
    return instruction_result(shape, dtype, default, mask, TENSOR_TENSOR, a, b, op)


def _with_partitions(tensor: Tensor, other: Tensor) -> Tensor:
    """A tile of one partition repeated in the partitions of another."""
    if tensor.shape[0] != 1:
        return tensor
    return tensor.broadcast_to((other.shape[0], *tensor.shape[1:]))


def number_of(value):
    """A number for an instruction; loop variables are unrolled."""
    return value.as_number() if isinstance(value, Expression) else value


def _result_dtype(op: str, a: Any, b: Any) -> DType:
    if op in _COMPARISONS:
        return dtypes.bool_
    promoted = promote(a, b)
    # Kernels take the floor of quotients of integers: they are not rounded to integers before.
    return dtypes.float32 if op == "divide" and promoted.is_integer else promoted


def with_scalar(op: str, data: Tensor, scalar: Any, reverse: bool, dtype: Any, mask: Any) -> Tensor:
    """data op scalar, or scalar op data: a number, or a tile [P, 1] of fp32."""
    on_chip(data, "data", "tensor_scalar")
    other = scalar.dtype if isinstance(scalar, Tensor) else scalar
    default = _result_dtype(op, data.dtype, other)
    operands = (data, op, scalar, reverse)
    return instruction_result(data.shape, dtype, default, mask, TENSOR_SCALAR, *operands)
