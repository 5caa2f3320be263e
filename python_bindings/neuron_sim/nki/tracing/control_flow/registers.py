"""VirtualRegister: a 32-bit value that the sequencers of the engines hold while a kernel runs."""

from typing import Any

from .while_loops import truth


class VirtualRegister:
    """Register `index` of every sequencer of the core.

    `is_frozen`: the variable of a dynamic_range loop, which the kernel cannot write. As the
    condition of a `while` statement it makes that a loop on chip; its value is not a Python number.
    """

    __slots__ = ("index", "is_frozen", "_control", "_nest")
    __array_ufunc__ = None

    def __init__(self, index: int, control: Any = None, nest: int = 0):
        self.index = index
        self.is_frozen = False
        self._control = control
        self._nest = nest

    def __del__(self):
        if self._control is not None:
            self._control.release(self.index, self._nest)

    def __bool__(self) -> bool:
        return truth(self)

    def _no_number(self, *_):
        raise TypeError(
            "the value of a register is not known while the kernel is traced, so it is no Python "
            "number and no condition but that of a `while` statement whose source can be read; "
            "use nl.fori_loop or nl.while_loop, and scalar_offset= for addresses."
        )

    __int__ = __index__ = __float__ = _no_number

    def _no_arithmetic(self, *_):
        raise TypeError(
            "registers have no arithmetic and no comparisons: store the value with "
            "nisa.register_store, compute in SBUF, and load the result with nisa.register_load."
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_arithmetic
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _no_arithmetic
    __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = __abs__ = _no_arithmetic
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __invert__ = _no_arithmetic
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _no_arithmetic
    __lt__ = __le__ = __gt__ = __ge__ = _no_arithmetic

    def __eq__(self, other) -> bool:
        return False if other is None else self._no_arithmetic()

    def __ne__(self, other) -> bool:
        return True if other is None else self._no_arithmetic()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"VirtualRegister({self.index})"
