"""Operators of Tensor: attached here, because they emit instructions."""

from typing import Any

from . import operators, trace
from .dtypes import bool_
from .dynamic import DynamicIndex
from .expression import Expression
from .operators import PLAIN, binary, invert, number_of, plain_binary
from .tensor import Tensor

trace.operators = operators

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


_binary: Any = None  # of nki.language.lowering, which imports this package


def _operation(op: str, a, b):
    if op in ("add", "subtract") and isinstance(a, Tensor) and isinstance(b, Expression):
        if b.shape and a.size == 1:  # an index that is read at run time, and a range after it
            return DynamicIndex(a, b if op == "add" else -b)
    if op in _LOGICAL:
        kinds = getattr(a, "dtype", None), getattr(b, "dtype", None)
        if kinds == (bool_, bool_):
            op = _LOGICAL[op]
    global _binary
    if _binary is None:
        from neuron_sim.nki.language.lowering import binary as _binary
    x = a if type(a) is Tensor else number_of(a)
    return _binary(op, x, b if type(b) is Tensor else number_of(b))


def _forward(op: str):
    def operator(self, other):
        if other is None or isinstance(other, (str, tuple, list, dict)):
            return NotImplemented
        return _operation(op, self, other)

    def plain_operator(self, other):
        made = plain_binary(op, self, other)
        return operator(self, other) if made is None else made

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
        target.storage.trace.assign(target, _operation(op, target, other), True)
        return target

    return operator


def _attach() -> None:
    for name, op in _BINARY.items():
        setattr(Tensor, f"__{name}__", _forward(op))
        setattr(Tensor, f"__r{name}__", _reflected(op))
        # The base class adds up products in PSUM itself.
        setattr(Tensor, f"__i{name}__" if name != "add" else "_add_in_place", _in_place(op))
    for name, op in _COMPARED.items():
        setattr(Tensor, f"__{name}__", _forward(op))
    unary = {
        "neg": lambda self: binary("multiply", self, -1),
        "pos": lambda self: self,
        "invert": invert,
        "abs": lambda self: binary("abs_max", self, 0),
    }
    for name, function in unary.items():
        setattr(Tensor, f"__{name}__", function)


_attach()
