"""Registers as indices: t[reg, :], t[:, nl.ds(reg, size)]."""

from neuron_sim import _core

from .registers import VirtualRegister


def is_register(value) -> bool:
    return type(value) is VirtualRegister


def split_register(tensor, items: tuple) -> tuple:
    """(items with 0 in place of the register, the register, its dimension).

    A register is one index, or the start of one nl.ds; as in select and ap(scalar_offset=), not of
    the partition dimension. The bounds are checked when the kernel runs.
    """
    fixed: list = []
    found = []
    dimension = 0
    for item in items:
        if is_register(item):
            found.append((dimension, item))
            fixed.append(0)
        elif isinstance(item, _core.DynamicSlice) and is_register(item.start):
            found.append((dimension, item.start))
            fixed.append(type(item)(0, item.size))
        else:
            fixed.append(item)
        dimension += item is not None
    if len(found) > 1:
        raise IndexError(f"tensor `{tensor.name}`: at most one index can be a register.")
    dimension, register = found[0]
    if dimension >= len(tensor.shape) or dimension == tensor.axis:
        raise IndexError(
            f"tensor `{tensor.name}`: dimension {dimension} cannot be indexed with a register: "
            + ("it is the partition dimension." if dimension == tensor.axis else "there is none.")
        )
    return tuple(fixed), register, dimension
