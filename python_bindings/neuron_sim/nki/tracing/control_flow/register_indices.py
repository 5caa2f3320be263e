"""Registers, and tiles of one element, as indices: t[reg, :], t[:, nl.ds(reg, size)]."""

from neuron_sim import _core

from .registers import VirtualRegister


def is_register(value) -> bool:
    return type(value) is VirtualRegister


def split_register(tensor, items: tuple) -> tuple:
    """(items with 0 in place of the register, the register, its dimension).

    A register, or a tile that is read into one, is one index, or the start of one nl.ds; as in
    select and ap(scalar_offset=), not of the partition dimension. The bounds are checked when the
    kernel runs.
    """
    fixed: list = []
    found = []
    dimension = 0
    for item in items:
        is_slice = isinstance(item, _core.DynamicSlice)
        start = item.start if is_slice else item
        if is_register(start) or hasattr(start, "storage"):
            found.append((dimension, start))
            fixed.append(type(item)(0, item.size) if is_slice else 0)
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
