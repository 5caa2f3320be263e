"""neuronxcc.nki.isa: activation functions of the Scalar engine, which return their result."""

from neuron_sim import _core
from neuron_sim.nki.isa import activations as new
from neuron_sim.nki.isa.instruction import ACTIVATION
from neuron_sim.nki.isa.operators import operator_name, tile_or_number
from neuron_sim.nki.lowering.tiles import instruction_result
from neuron_sim.nki.tracing import Tensor, current

from .constants import reduce_cmd as reduce_commands
from .results import refuse, result, tile
from .returned import returned

plain_result = _core.plain_result
_IDLE = reduce_commands.idle
_BIAS = ("float32", "float16", "bfloat16")


def _check_operands(bias, scale):
    """err_activation_bias_invalid_type and those of scale, err_bias_tensor_must_be_specified."""
    if bias is None:
        allocation = current().allocation
        if allocation.directly:
            allocation.check_bias(bias)
    elif isinstance(bias, Tensor) and bias.dtype.name not in _BIAS:
        raise ValueError(
            "Bias parameter of activation or activation_reduce must be a vector of type float32, "
            f"float16, or bfloat16, not {bias.dtype}."
        )
    if type(scale) is float or not isinstance(scale, Tensor):
        return
    if scale.dtype.name != "float32":
        raise ValueError(
            "Scale parameter of activation or activation_reduce must be a scalar or vector of type "
            f"float32, not {scale.dtype}."
        )
    if scale.size != scale.shape[0]:
        raise ValueError(
            "Scale parameter of activation must be either a scalar value or a 1D vector spanning "
            f"the partition dimension, not {scale.describe()}."
        )


def _activation(op, data, bias, scale, mask=None, dtype=None):
    tile(data, "activation", "data")
    _check_operands(bias, scale)
    offset = 0.0 if bias is None else tile_or_number(bias)
    operands = (operator_name(op), data, offset, tile_or_number(scale))
    return instruction_result(data.shape, dtype, data.dtype, mask, ACTIVATION, *operands)


def activation(
    op,
    data,
    *,
    bias=None,
    scale=1.0,
    reduce_op=None,
    reduce_res=None,
    reduce_cmd=_IDLE,
    mask=None,
    dtype=None,
    **kwargs,
):
    """op(data * scale + bias), and a sum over the free dimensions in the engine's registers.

    As nki.isa.activation. The result has the dtype of `data` unless `dtype` is given; reduce_res
    is written in place.
    """
    if kwargs:
        refuse("activation", kwargs)
    reduces = reduce_op is not None or reduce_res is not None or reduce_cmd is not _IDLE
    if mask is None and dtype is None and not reduces:
        return plain_result(ACTIVATION, "otbc", _activation, op, data, bias, scale)
    if not reduces:
        return _activation(op, data, bias, scale, mask, dtype)
    tile(data, "activation", "data")
    _check_operands(bias, scale)

    def emit_and_reduce(dst, part, offset, factor, reduced):
        new.activation(dst, op, part, offset, factor, reduce_op, reduced, reduce_cmd)

    return result(
        data.shape, dtype, data.dtype, mask, emit_and_reduce, data, bias, scale, reduce_res
    )


@returned(2, check="_check_operands(bias, scale)")
def activation_reduce():
    """op(data * scale + bias); reduce_res = its sum over the free dimensions, written in place."""
