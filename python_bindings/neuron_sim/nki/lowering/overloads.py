"""Operators and methods of Tensor that emit instructions: attached here."""

from neuron_sim import _core

from ..isa.instruction import TENSOR_SCALAR, TENSOR_TENSOR
from ..tracing.active import note
from ..tracing.dtypes import bool_, dtype_of
from ..tracing.dynamic import DynamicIndex
from ..tracing.expression import Expression
from ..tracing.tensor import Tensor
from . import elementwise, movement, shapes, tiles
from .tiles import PLAIN, number_of

plain_binary = _core.plain_binary
_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "power",
    "mod": "mod",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
_COMPARED = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_LOGICAL = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor"}


def _operation(op: str, a, b):
    if op in ("add", "subtract") and isinstance(a, Tensor) and isinstance(b, Expression):
        if b.shape and a.size == 1:  # an index that is read at run time, and a range after it
            return DynamicIndex(a, b if op == "add" else -b)
    if op in _LOGICAL:
        kinds = getattr(a, "dtype", None), getattr(b, "dtype", None)
        if kinds == (bool_, bool_):
            op = _LOGICAL[op]
    if op == "divide":
        note("PY-TILEDIV", "")
    x = a if type(a) is Tensor else number_of(a)
    return elementwise.binary(op, x, b if type(b) is Tensor else number_of(b))


def _forward(op: str):
    def general(_, this, other):
        if other is None or isinstance(other, (str, tuple, list, dict)):
            return NotImplemented
        return _operation(op, this, other)

    def operator(self, other):
        return general(op, self, other)

    def plain_operator(self, other):
        return plain_binary(TENSOR_SCALAR, TENSOR_TENSOR, op, self, other, general)

    return plain_operator if op in PLAIN else operator


def _reflected(op: str):
    def operator(self, other):
        if op == "add" and isinstance(other, Expression):
            return _operation(op, self, other)
        return _operation(op, other, self)

    return operator


def _in_place(op: str):
    def operator(self, other):
        target = self.settle()
        target.access  # noqa: B018 - the scope is checked before anything is emitted
        target[...] = _operation(op, target, other)
        return target

    return operator


def astype(tensor, dtype):
    """A copy with another dtype (always a new tile)."""
    return tiles.copy(tensor, dtype_of(dtype))


def broadcast_to(tensor, *sizes, shape=None):
    """Dimensions of size 1 repeated, new ones before the free dimensions; no element moves.

    Partitions: a tensor of one partition is broadcast by a matrix product with ones.
    """
    if shape is not None:
        sizes = tuple(shape)
    elif len(sizes) == 1 and not isinstance(sizes[0], int):
        sizes = tuple(sizes[0])
    if tuple(sizes) == tensor.shape:
        return tensor
    tensor.settle()
    if tensor.axis == 0 and tensor.shape[0] == 1 and sizes[0] != 1:
        return shapes.broadcast_partitions(tensor, sizes)
    return tensor.repeated(sizes)


def _assign(target, value):
    """target[...] = value; in HBM, which only the new language assigns to, by DMA."""
    is_stored = target.axis is None and not target.storage.trace.is_old
    (movement.store if is_stored else tiles.assign)(target, value)


def _attach() -> None:
    for name, op in _BINARY.items():
        setattr(Tensor, f"__{name}__", _forward(op))
        setattr(Tensor, f"__r{name}__", _reflected(op))
        # The base class adds up products in PSUM itself.
        setattr(Tensor, f"__i{name}__" if name != "add" else "_add_in_place", _in_place(op))
    for name, op in _COMPARED.items():
        setattr(Tensor, f"__{name}__", _forward(op))
    unary = {
        "neg": lambda self: tiles.binary("multiply", self, -1),
        "pos": lambda self: self,
        "invert": lambda self: elementwise.invert(self, self.dtype),
        "abs": lambda self: tiles.binary("abs_max", self, 0),
    }
    for name, function in unary.items():
        setattr(Tensor, f"__{name}__", function)
    Tensor.astype, Tensor.broadcast_to, Tensor._assign = astype, broadcast_to, _assign


_attach()
