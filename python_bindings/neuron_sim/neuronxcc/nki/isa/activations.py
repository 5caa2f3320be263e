"""neuronxcc.nki.isa: activation functions of the Scalar engine, which return their result."""

from neuron_sim.nki.isa import activations as new
from neuron_sim.nki.tracing import current

from .constants import reduce_cmd as reduce_commands
from .results import refuse, result, tile


def activation(
    op,
    data,
    *,
    bias=None,
    scale=1.0,
    reduce_op=None,
    reduce_res=None,
    reduce_cmd=reduce_commands.idle,
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
    tile(data, "activation", "data")
    current().allocation.check_bias(bias)
    if reduce_op is None and reduce_res is None and reduce_cmd is reduce_commands.idle:

        def emit(dst, part, offset, factor):
            new.activation(dst, op, part, offset, factor)

        return result(data.shape, dtype, data.dtype, mask, emit, data, bias, scale)

    def emit_and_reduce(dst, part, offset, factor, reduced):
        new.activation(dst, op, part, offset, factor, reduce_op, reduced, reduce_cmd)

    return result(
        data.shape, dtype, data.dtype, mask, emit_and_reduce, data, bias, scale, reduce_res
    )


def activation_reduce(
    op, data, *, reduce_op, reduce_res, bias=None, scale=1.0, mask=None, dtype=None, **kwargs
):
    """op(data * scale + bias); reduce_res = its sum over the free dimensions, written in place."""
    if kwargs:
        refuse("activation_reduce", kwargs)
    current().allocation.check_bias(bias)

    def emit(dst, part, offset, factor, reduced):
        new.activation_reduce(dst, op, part, reduce_op, reduced, offset, factor)

    return result(data.shape, dtype, data.dtype, mask, emit, data, bias, scale, reduce_res)
