"""nki.isa: registers of the engines' sequencers: bounds and conditions of loops, and addresses."""

from ..tracing import Tensor
from .instruction import EMITTED, builder


class VirtualRegister:
    """A 32-bit register: `index` is its number in the sequencer of the Sync engine."""

    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index

    def _no_number(self, *_):
        raise TypeError(
            "the value of a register is not known while the kernel is traced, so it is no Python "
            "number and no condition; use nl.fori_loop or nl.while_loop."
        )

    __bool__ = __int__ = __index__ = __float__ = _no_number

    def __repr__(self):
        return f"VirtualRegister({self.index})"


def register_alloc(x=None):
    """A fresh register that holds `x`: an int, a tensor of one element, or nothing yet."""
    value = x.access if isinstance(x, Tensor) else x
    return VirtualRegister(builder().register_alloc(value))


def register_move(dst, src):
    """dst = src, an int of 32 bits or another register."""
    if isinstance(src, VirtualRegister):
        builder().register_move(dst.index, src_register=src.index)
    else:
        builder().register_move(dst.index, int(src))
    return EMITTED


def register_load(dst, src):
    """dst = the single element of `src`: int32 or uint32 in SBUF or HBM."""
    builder().register_load(dst.index, src.access)
    return EMITTED


def register_store(dst, src):
    """The single element of `dst`, int32 or uint32 in SBUF or HBM, = the register `src`."""
    builder().register_store(dst.access, src.index)
    return EMITTED
