"""The bodies of isa_costs in the older language: the results of functions, and dynamic copies."""

import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np


def wide(n, dtype=nl.float32, buffer=nl.sbuf):
    """[128, n]."""
    return nl.ndarray((128, n), dtype=dtype, buffer=buffer)


def _half(n):
    return wide(n, nl.bfloat16)


def _iota(n):
    return nisa.iota(nl.arange(128)[:, None] + nl.arange(n)[None, :], dtype=nl.float32)


def _affine_select(n):
    i_p, i_f = nl.arange(128)[:, None], nl.arange(n)[None, :]
    return nisa.affine_select(pred=(i_p > i_f), on_true_tile=wide(n), on_false_value=0.0)


def _shuffle(n):
    return nisa.nc_stream_shuffle(wide(n), wide(n), list(range(32)))


def _range_select(n):
    return nisa.range_select(
        on_true_tile=wide(n), comp_op0=np.greater_equal, comp_op1=np.less, bound0=wide(1),
        bound1=wide(1), reduce_cmd=nisa.reduce_cmd.reset_reduce, reduce_res=wide(1),
        reduce_op=np.max,
    )  # fmt: skip


def _select_reduce(n):
    return nisa.select_reduce(
        dst=wide(n), predicate=wide(n, nl.uint8), on_true=wide(n), on_false=0.0
    )


#: By the names of isa_costs.COSTS: the same instruction, so the same cycles.
BODIES = {
    "tensor_copy": lambda n: nisa.tensor_copy(wide(n), engine=nisa.vector_engine),
    "tensor_copy of bf16": lambda n: nisa.tensor_copy(_half(n), engine=nisa.vector_engine),
    "tensor_copy on Scalar": lambda n: nisa.tensor_copy(wide(n), engine=nisa.scalar_engine),
    "tensor_copy on GpSimd": lambda n: nisa.tensor_copy(wide(n), engine=nisa.gpsimd_engine),
    "tensor_copy_predicated": lambda n: nisa.tensor_copy_predicated(
        src=wide(n), dst=wide(n), predicate=wide(n, nl.uint8)
    ),
    "memset": lambda n: nisa.memset((128, n), 1.0, nl.float32, engine=nisa.vector_engine),
    "memset of bf16 to 0": lambda n: nisa.memset(
        (128, n), 0.0, nl.bfloat16, engine=nisa.vector_engine
    ),
    "tensor_tensor": lambda n: nisa.tensor_tensor(wide(n), wide(n), np.add),
    "tensor_tensor with PSUM": lambda n: nisa.tensor_tensor(
        wide(n), wide(n, buffer=nl.psum), np.add
    ),
    "tensor_tensor of bf16": lambda n: nisa.tensor_tensor(_half(n), _half(n), np.add),
    "tensor_scalar": lambda n: nisa.tensor_scalar(wide(n), np.add, 1.0),
    "tensor_scalar of bf16": lambda n: nisa.tensor_scalar(_half(n), np.add, 1.0),
    "scalar_tensor_tensor": lambda n: nisa.scalar_tensor_tensor(
        data=wide(n), op0=np.add, operand0=1.0, op1=np.multiply, operand1=wide(n)
    ),
    "tensor_scalar_reduce": lambda n: nisa.tensor_scalar_reduce(
        data=wide(n), op0=np.add, operand0=1.0, reduce_op=np.add, reduce_res=wide(1)
    ),
    "tensor_tensor_scan": lambda n: nisa.tensor_tensor_scan(
        wide(n), wide(n), 0.0, np.multiply, np.add
    ),
    "tensor_reduce": lambda n: nisa.tensor_reduce(np.add, wide(n), axis=1),
    "tensor_reduce of bf16": lambda n: nisa.tensor_reduce(np.add, _half(n), axis=1),
    "tensor_partition_reduce": lambda n: nisa.tensor_partition_reduce(np.add, wide(n)),
    "activation": lambda n: nisa.activation(nl.copy, wide(n)),
    "activation_reduce": lambda n: nisa.activation_reduce(
        nl.copy, wide(n), reduce_op=np.add, reduce_res=wide(1)
    ),
    "reciprocal": lambda n: nisa.reciprocal(wide(n)),
    "bn_stats": lambda n: nisa.bn_stats(wide(n)),
    "bn_aggr": lambda n: nisa.bn_aggr(wide(3 * n)),
    "select_reduce": _select_reduce,
    "range_select": _range_select,
    "affine_select": _affine_select,
    "iota": _iota,
    "dropout": lambda n: nisa.dropout(wide(n), 0.5),
    "local_gather": lambda n: nisa.local_gather(wide(512), wide(n // 16, nl.uint16)),
    "nc_stream_shuffle": _shuffle,
    "max8": lambda n: nisa.max8(src=wide(n)),
    "nc_find_index8": lambda n: nisa.nc_find_index8(data=wide(n), vals=wide(8)),
    "nc_match_replace8": lambda n: nisa.nc_match_replace8(data=wide(n), vals=wide(8), imm=0.0),
    "sequence_bounds": lambda n: nisa.sequence_bounds(
        segment_ids=nl.ndarray((1, n), dtype=nl.float32, buffer=nl.sbuf)
    ),
    "nc_transpose on Vector": lambda n: nisa.nc_transpose(
        nl.ndarray((32, 32), dtype=nl.float32, buffer=nl.sbuf), engine=nisa.vector_engine
    ),
}


def dynamic_src(n):
    """A copy of n elements from where a tile says."""
    start = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    i_p, i_f = nl.arange(128)[:, None], nl.arange(n)[None, :]
    source = wide(2 * n)[i_p, start[0, 0] + i_f]
    return nisa.tensor_copy_dynamic_src(source, engine=nisa.vector_engine)


def dynamic_dst(n):
    """The same to where a tile says."""
    start = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    i_p, i_f = nl.arange(128)[:, None], nl.arange(n)[None, :]
    target = wide(2 * n)[i_p, start[0, 0] + i_f]
    nisa.tensor_copy_dynamic_dst(dst=target, src=wide(n), engine=nisa.vector_engine)
