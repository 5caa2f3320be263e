"""Shared by the functions of neuronxcc.nki.isa: masks, result dtypes and result tiles.

An instruction of the older language returns its result; here it is emitted into the tile that the
result is assigned to, or into a new one, by the function of nki.isa of the same name.
"""

from neuron_sim.neuronxcc.nki.keywords import refuse
from neuron_sim.nki.tracing import Tensor, boxes
from neuron_sim.nki.tracing.trace import in_parts
from neuron_sim.nki.tracing.trace import masked_result as result

__all__ = ["in_parts", "in_place", "refuse", "result", "tile"]


def in_place(shape, mask, emit, *tiles):
    """emit(*tiles) at once, for the part that a mask leaves."""
    in_parts(None if mask is None else boxes(mask, tuple(shape)), emit, *tiles)


def tile(value, instruction, parameter):
    """`value`, which has to be a tensor: TypeError otherwise."""
    if isinstance(value, Tensor):
        return value
    raise TypeError(
        f"operand '{parameter}' of '{instruction}' is a {type(value).__name__}, not a tile."
    )
