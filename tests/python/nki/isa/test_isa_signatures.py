"""Parameters of nki.isa and neuronxcc.nki.isa: names, order and defaults are the vendor's."""

import inspect

import neuron_sim.neuronxcc.nki.isa as old
import neuron_sim.nki.isa as new
import pytest

NEW = """
nc_matmul(dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False,
    is_transpose=False, accumulate=None, tile_position=(), tile_size=(),
    perf_mode=matmul_perf_mode.none, name=None)
nc_matmul_mx(dst, stationary, moving, stationary_scale, moving_scale, tile_position=None,
    tile_size=None, accumulate=None, name=None)
nc_transpose(dst, data, engine=engine.unknown, name=None)
dma_copy(dst, src, priority=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown,
    engine=engine.unknown, name=None)
dma_transpose(dst, src, axes=None, priority=None, dge_mode=dge_mode.unknown,
    oob_mode=oob_mode.error, name=None)
dma_compute(dst, srcs, reduce_op, scales=None, unique_indices=True, oob_mode=oob_mode.error,
    name=None)
tensor_copy(dst, src, engine=engine.unknown, name=None, dtype=None)
tensor_copy_predicated(dst, src, predicate, reverse_pred=False, name=None)
memset(dst, value, engine=engine.unknown, name=None)
tensor_tensor(dst, data1, data2, op, engine=engine.unknown, name=None)
tensor_scalar(dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False,
    engine=engine.unknown, name=None)
scalar_tensor_tensor(dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False,
    name=None)
tensor_scalar_reduce(dst, data, op0, operand0, reduce_op, reduce_res=None, reverse0=False,
    reduce_cmd=reduce_cmd.reset_reduce, reduce_init=None, reduce_res_negate=False, name=None)
tensor_scalar_cumulative(dst, src, op0, op1, imm0, imm1=None, reduce_cmd=reduce_cmd.reset_reduce,
    name=None)
tensor_tensor_scan(dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False, name=None)
tensor_reduce(dst, op, data, axis, negate=False, keepdims=False, name=None)
tensor_partition_reduce(dst, op, data, name=None)
activation(dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None,
    reduce_cmd=reduce_cmd.idle, name=None)
activation_reduce(dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0, name=None)
activate2(dst, op, data, imm0, imm1, op0, op1, relu_param=0.0, reverse0=False, reverse1=False,
    reduce_op=None, reduce_res=None, reduce_cmd=reduce_cmd.idle, name=None)
exponential(dst, src, max_value=0.0, reduce_res=None, reduce_cmd=reduce_cmd.idle, reduce_init=0.0,
    name=None)
reciprocal(dst, data, name=None)
bn_stats(dst, data, name=None)
bn_aggr(dst, data, name=None)
select_reduce(dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=reduce_cmd.idle,
    reduce_op=maximum, reverse_pred=False, name=None)
range_select(dst, on_true_tile, comp_op0, comp_op1, bound0, bound1,
    reduce_cmd=reduce_cmd.reset_reduce, reduce_res=None, reduce_op=maximum, range_start=0,
    on_false_value=-3.4028234663852886e+38, name=None)
affine_select(dst, pattern, channel_multiplier, on_true_tile, on_false_value, cmp_op=equal,
    offset=0, name=None)
iota(dst, pattern, offset=0, channel_multiplier=0, name=None)
dropout(dst, data, prob, name=None)
local_gather(dst, src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, name=None)
nc_n_gather(dst, data, indices, name=None)
nc_stream_shuffle(dst, src, shuffle_mask, name=None)
max8(dst, src, name=None)
nc_find_index8(dst, data, vals, name=None)
nc_match_replace8(dst, data, vals, imm, dst_idx=None, name=None)
topk(val_dst, idx_dst, src, n, name=None)
nonzero_with_count(dst, src, index_offset=0, padding_val=-1, name=None)
sequence_bounds(dst, segment_ids, name=None)
rng(dst, engine=engine.vector, name=None)
rand2(dst, min, max, name=None)
set_rng_seed(src_seeds, name=None)
rand_set_state(src_seeds, engine=engine.gpsimd, name=None)
rand_get_state(dst, engine=engine.gpsimd, name=None)
quantize_mx(dst, src, dst_scale, name=None)
core_barrier(data, cores, engine=engine.gpsimd, name=None)
sendrecv(src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine=dma_engine.dma, name=None)
register_alloc(x=None)
register_move(dst, src)
register_load(dst, src)
register_store(dst, src)
get_nc_version()
get_nc_sub_version()
"""

OLD = """
nc_matmul(stationary, moving, *, is_stationary_onezero=False, is_moving_onezero=False,
    is_transpose=False, tile_position=(), tile_size=(), mask=None, **kwargs)
nc_transpose(data, *, mask=None, dtype=None, engine=engine.unknown, **kwargs)
dma_copy(*, dst, src, mask=None, dst_rmw_op=None, oob_mode=oob_mode.error,
    dge_mode=dge_mode.unknown)
dma_transpose(src, *, axes=None, mask=None, dtype=None, **kwargs)
tensor_copy(src, *, mask=None, dtype=None, engine=engine.unknown, **kwargs)
tensor_copy_predicated(*, src, dst, predicate, reverse_pred=False, mask=None, dtype=None, **kwargs)
memset(shape, value, dtype, *, mask=None, engine=engine.unknown, **kwargs)
tensor_tensor(data1, data2, op, *, dtype=None, mask=None, engine=engine.unknown, **kwargs)
tensor_scalar(data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, *,
    dtype=None, mask=None, engine=engine.unknown, **kwargs)
scalar_tensor_tensor(*, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False,
    dtype=None, mask=None, **kwargs)
tensor_scalar_reduce(*, data, op0, operand0, reduce_op, reduce_res, reverse0=False, dtype=None,
    mask=None, **kwargs)
tensor_tensor_scan(data0, data1, initial, op0, op1, reverse0=False, reverse1=False, *, dtype=None,
    mask=None, **kwargs)
tensor_reduce(op, data, axis, *, mask=None, dtype=None, negate=False, keepdims=False, **kwargs)
tensor_partition_reduce(op, data, *, mask=None, dtype=None, **kwargs)
activation(op, data, *, bias=None, scale=1.0, reduce_op=None, reduce_res=None,
    reduce_cmd=reduce_cmd.idle, mask=None, dtype=None, **kwargs)
activation_reduce(op, data, *, reduce_op, reduce_res, bias=None, scale=1.0, mask=None, dtype=None,
    **kwargs)
reciprocal(data, *, dtype=None, mask=None, **kwargs)
bn_stats(data, *, mask=None, dtype=None, **kwargs)
bn_aggr(data, *, mask=None, dtype=None, **kwargs)
select_reduce(*, dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=reduce_cmd.idle,
    reduce_op=max, reverse_pred=False, mask=None, dtype=None, **kwargs)
range_select(*, on_true_tile, comp_op0, comp_op1, bound0, bound1, reduce_cmd=reduce_cmd.idle,
    reduce_res=None, reduce_op=max, range_start=0, on_false_value=-3.4028234663852886e+38,
    mask=None, dtype=None, **kwargs)
affine_select(pred, on_true_tile, on_false_value, *, mask=None, dtype=None, **kwargs)
iota(expr, dtype, *, mask=None, **kwargs)
dropout(data, prob, *, mask=None, dtype=None, **kwargs)
local_gather(src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, *, mask=None)
nc_stream_shuffle(src, dst, shuffle_mask, *, dtype=None, mask=None, **kwargs)
max8(*, src, mask=None, dtype=None, **kwargs)
nc_find_index8(*, data, vals, mask=None, dtype=None, **kwargs)
nc_match_replace8(*, data, vals, imm, dst_idx=None, mask=None, dtype=None, **kwargs)
sequence_bounds(*, segment_ids, dtype=None)
get_nc_version()
"""


def signatures(text):
    """name -> parameters, of lines that are continued by indentation."""
    joined = text.strip().replace("\n    ", " ").splitlines()
    return {line.split("(", 1)[0]: line.split("(", 1)[1].removesuffix(")") for line in joined}


def default(value):
    if hasattr(value, "builder_name"):
        return f"{type(value).__name__}.{value.name}"
    name = getattr(value, "__name__", None)
    return {"amax": "max"}.get(name, name) if name is not None else repr(value)


def written(function):
    """A signature as the tables write it."""
    parts, keywords = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            parts.append(f"**{parameter.name}")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
            parts.append("*")
            keywords = True
        text = parameter.name
        if parameter.default is not parameter.empty:
            text += f"={default(parameter.default)}"
        parts.append(text)
    return ", ".join(parts)


@pytest.mark.parametrize("name", signatures(NEW))
def test_parameters_of_the_new_language(name):
    assert written(getattr(new, name)) == signatures(NEW)[name]


@pytest.mark.parametrize("name", signatures(OLD))
def test_parameters_of_the_old_language(name):
    assert written(getattr(old, name)) == signatures(OLD)[name]


@pytest.mark.parametrize("module", [new, old])
def test_every_public_function_says_what_it_does(module):
    functions = [getattr(module, name) for name in module.__all__]
    functions = [each for each in functions if inspect.isfunction(each)]
    assert len(functions) >= 30
    assert [each.__name__ for each in functions if not inspect.getdoc(each)] == []
