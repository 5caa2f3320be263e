"""Index expressions: affine in the dimensions of arange, loop variables and program ids.

A value that is a plain number is always an int, never an Expression. Non-affine use needs a
loop variable as a number: it raises Unroll, and the kernel is traced again with that loop unrolled.
"""

from neuron_sim import _core

from .errors import Unroll

Loop = _core.CountedLoop
"""A symbolic variable: start + step * (0 .. trip_count - 1).

Loop(key, name, kind, trip_count, affine): `key` identifies the loop in the source (the same in the
next trace), `affine` is the builder's variable of it, which counts trips. `opened_at`: number of
uses of tensors until then.
"""


@_core.register_class
class Expression(_core.IndexExpression):
    """constant + sum of coefficient * loop trip + sum of coefficient * position in a dimension.

    Expression(constant, terms, steps=(), shape=()): `terms`: Loop -> coefficient. `shape`: sizes of
    the dimensions, () for a scalar; `steps`: the coefficient of each dimension. Sums, differences,
    products and quotients with numbers and comparisons are those of the base class.
    """

    __slots__ = ()
    __array_ufunc__ = None  # NumPy scalars leave arithmetic with an Expression to it

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __pos__(self):
        return self

    def as_number(self):
        """Raises Unroll; an error for an arange, which is never a number."""
        if self.shape:
            raise ValueError(
                "Control-flow depending on `nl.arange` or `nl.mgrid` is not supported."
            )
        raise Unroll(loop.key for loop in self.terms)

    def _with_tensor_or_float(self, other, operation: str):
        """Arithmetic with non-indices: a float needs the number, a tensor handles it."""
        if isinstance(other, float):
            return getattr(self.as_number(), operation)(other)
        return NotImplemented

    def __index__(self):
        return self.as_number()

    __int__ = __float__ = __bool__ = __index__

    def __hash__(self):
        return self.as_number()

    def _needs_number(self, *_):
        return self.as_number()

    __truediv__ = __rtruediv__ = _needs_number
    __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _needs_number
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _needs_number
    __abs__ = __round__ = __trunc__ = __ceil__ = __floor__ = _needs_number

    def __getitem__(self, index):
        """New axes and whole slices, as in `nl.arange(128)[:, None]`."""
        old, new = list(zip(self.steps, self.shape, strict=True)), []
        for item in index if type(index) is tuple else (index,):
            if item is not None and not (isinstance(item, slice) and item == slice(None) and old):
                raise IndexError(f"an index tensor takes `:` and `None` as indices, not {item!r}.")
            new.append((0, 1) if item is None else old.pop(0))
        steps, shape = zip(*new, *old, strict=True) if new or old else ((), ())
        return Expression(self.constant, self.terms, steps, shape)

    def __setitem__(self, index, value):
        raise TypeError("'index' tensor does not support item assignment")

    def expand_dims(self, axis: int) -> "Expression":
        """A dimension of size 1 before `axis`."""
        position = axis if axis >= 0 else axis + len(self.shape) + 1
        index = (slice(None),) * position + (None,)
        return self[index]

    def __format__(self, specification: str) -> str:
        return repr(self)


def variable(loop: Loop, start: int = 0, step: int = 1) -> Expression:
    """The value of a loop variable."""
    return Expression(start, {loop: step})


def arange(start: int, size: int, step: int = 1) -> Expression:
    """start, start + step, ... : one dimension."""
    return Expression(start, {}, (step,), (size,))
