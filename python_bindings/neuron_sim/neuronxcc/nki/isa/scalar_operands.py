"""Scalar operands of element-wise instructions: numbers, or tiles with an element per partition."""

from neuron_sim.nki.isa.operators import tile_or_number
from neuron_sim.nki.lowering.tiles import copy
from neuron_sim.nki.tracing import Tensor, current
from neuron_sim.nki.tracing.dtypes import float32


def per_partition(operand):
    """A number as a float; a tile [P, 1] of another floating dtype cast to fp32, which is what
    engines read (docs/hardware_facts.md#scalar-operands). Other tiles, and those of kernels with
    addresses, which have no tiles of ours, unchanged: the instruction checks them.
    """
    if type(operand) is not Tensor or operand.dtype is float32 or not operand.dtype.is_float:
        return tile_or_number(operand)
    if operand.size != operand.shape[0] or current().allocation.directly:
        return operand
    return copy(operand, float32)
