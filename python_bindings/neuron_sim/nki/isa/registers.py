"""nki.isa: registers of the engines' sequencers: bounds and conditions of loops, and addresses.

A register exists in every sequencer: the compiler gives a copy to each that needs it.
"""

from ..tracing import Tensor, current
from ..tracing.control_flow.control import number_of
from ..tracing.control_flow.registers import VirtualRegister
from ..tracing.expression import Expression
from .instruction import builder, emitted


def _written(instruction: str, dst) -> int:
    """The number of a register that an instruction writes; AssertionError for a loop's variable."""
    if not isinstance(dst, VirtualRegister):
        assert not isinstance(dst, Expression), _frozen(instruction)
        raise TypeError(f"operand 'dst' of '{instruction}' is {dst!r}, not a register.")
    assert not dst.is_frozen, _frozen(instruction)
    return dst.index


def _frozen(instruction: str) -> str:
    return (
        f"'{instruction}' cannot write to the variable of a loop: it is read-only and does not "
        "decide about the loop's end."
    )


def register_alloc(x=None):
    """A fresh register that holds `x`: an int, a tensor of one element, or nothing yet."""
    value = x.access if isinstance(x, Tensor) else x
    if isinstance(x, Expression):
        value = int(x)
    emit = builder()
    register = current().control.new_register()
    emit.register_alloc(value, dst=register.index)
    return register


def register_move(dst, src):
    """dst = src, an int of 32 bits or another register."""
    number = _written("register_move", dst)
    if isinstance(src, VirtualRegister):
        builder().register_move(number, src_register=src.index)
    else:
        builder().register_move(number, number_of(src))
    return emitted()


def register_load(dst, src):
    """dst = the single element of `src`: int32 or uint32 in SBUF or HBM."""
    number = _written("register_load", dst)
    builder().register_load(number, src.access)
    return emitted()


def register_store(dst, src):
    """The single element of `dst`, int32 or uint32 in SBUF or HBM, = the register `src`.

    The variable of a loop with known bounds, and an int, are stored too.
    """
    control = current().control
    if not isinstance(src, VirtualRegister):
        value = number_of(src)
        src = control.new_register()
        builder().register_move(src.index, value)
    builder().register_store(dst.access, src.index)
    return emitted()
