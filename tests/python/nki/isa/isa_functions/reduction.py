"""Sums and other reductions, and statistics of normalisation."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import integers, uniform

from .function import EVERYWHERE, READ_ACCUMULATOR, Cost, Example, Function, Limit
from .tiles import column, half, hundreds, old_half, old_wide, tile, wide

#: Count, mean, and variance times count, of three groups.
_TRIPLES = np.concatenate(
    [
        column
        for _ in range(3)
        for column in (integers(128, 1, low=1, high=9), uniform(128, 1), uniform(128, 1, low=0))
    ],
    axis=1,
).astype(np.float32)


def _mean_and_variance(triples):
    counts, means, squares = (triples[:, i::3] for i in range(3))
    total = counts.sum(axis=1, keepdims=True)
    mean = (counts * means).sum(axis=1, keepdims=True) / total
    spread = squares + counts * (means - mean) ** 2
    return np.concatenate([mean, spread.sum(axis=1, keepdims=True) / total], axis=1)


def _statistics(b):
    fmax = old_nl.tile_size.bn_stats_fmax
    count = b.shape[1] // fmax
    stats = old_nl.ndarray((128, 6 * count), dtype=old_nl.float32)
    i_p, i_f = old_nl.mgrid[0:128, 0:fmax]
    i_q, i_s = old_nl.mgrid[0:128, 0:6]
    for i in range(count):
        stats[i_q, i * 6 + i_s] = old_nisa.bn_stats(b[i_p, i * fmax + i_f], dtype=old_nl.float32)
    return old_nisa.bn_aggr(stats)


bn_aggr = Function(
    signature="dst, data, name=None",
    old_signature="data, *, mask=None, dtype=None, **kwargs",
    limit=Limit(
        lambda k: nisa.bn_aggr(tile(128, 2), tile(128, k)),
        (12, 13),
        "operand 'data' of 'bn_aggr' has 13 elements per partition, but must have a multiple of 3.",
    ),
    costs=Cost(
        "Vector",
        lambda n: nisa.bn_aggr(tile(128, 2), wide(3 * n)),
        (13, 13, 13),
        old_body=lambda n: old_nisa.bn_aggr(old_wide(3 * n)),
    ),
    examples=Example(lambda a: old_nisa.bn_aggr(a), [_TRIPLES], _mean_and_variance),
)
bn_stats = Function(
    signature="dst, data, name=None",
    old_signature="data, *, mask=None, dtype=None, **kwargs",
    limit=Limit(lambda k: nisa.bn_stats(tile(128, 6), tile(128, k)), (512, 513),
        "size of dimension 1 in 'data[128, 513]' of 'bn_stats' exceed architecture limitation of "
        "512. (architecture trn2)"),
    costs=Cost("Vector", lambda n: nisa.bn_stats(tile(128, 6), wide(n)), EVERYWHERE,
        old_body=lambda n: old_nisa.bn_stats(old_wide(n))),
    examples=Example(_statistics, [hundreds(128, 1024)],
        lambda a: np.stack([a.mean(axis=1), a.var(axis=1)], axis=1)),
)  # fmt: skip
tensor_partition_reduce = Function(
    signature="dst, op, data, name=None",
    old_signature="op, data, *, mask=None, dtype=None, **kwargs",
    limit=Limit(lambda k: nisa.tensor_partition_reduce(tile(1, k), nl.add, tile(128, 40)), (40, 41),
        "number of elements per partition mismatch in parameters (dst[1, 41], data[128, 40]) of "
        "'tensor_partition_reduce'"),
    costs=Cost("GpSimd", lambda n: nisa.tensor_partition_reduce(tile(1, n), nl.add, wide(n)),
        (8, 8, 8), undocumented=True,
        old_body=lambda n: old_nisa.tensor_partition_reduce(np.add, old_wide(n))),
    examples=Example(lambda a: old_nisa.tensor_partition_reduce(np.add, a), [hundreds(128, 32, 4)],
        lambda a: a.sum(axis=0, keepdims=True)),
)  # fmt: skip
tensor_reduce = Function(
    signature="dst, op, data, axis, negate=False, keepdims=False, name=None",
    old_signature="op, data, axis, *, mask=None, dtype=None, negate=False, keepdims=False, "
        "**kwargs",
    limit=Limit(lambda k: nisa.tensor_reduce(tile(128, k), nl.add, tile(128, 40), 1), (1, 2),
        "operand 'dst' of 'tensor_reduce' (tensor[128, 2]) must have 1 elements per partition: "
        "operand 'data' (tensor[128, 40]) without its last 1 dimensions."),
    costs={
        "": Cost("Vector", lambda n: nisa.tensor_reduce(column(), nl.add, wide(n), 1), EVERYWHERE,
            old_body=lambda n: old_nisa.tensor_reduce(np.add, old_wide(n), axis=1)),
        "of bf16": Cost("Vector",
            lambda n: nisa.tensor_reduce(column(nl.bfloat16), nl.add, half(n), 1), (1 / 2,) * 3,
            old_body=lambda n: old_nisa.tensor_reduce(np.add, old_half(n), axis=1)),
    },
    examples=Example(lambda a: old_nisa.tensor_reduce(np.add, a, axis=[1]), [hundreds(128, 512)],
        lambda a: a.sum(axis=1, keepdims=True)),
)  # fmt: skip
tensor_scalar_reduce = Function(
    signature="dst, data, op0, operand0, reduce_op, reduce_res=None, reverse0=False, "
        "reduce_cmd=reduce_cmd.reset_reduce, reduce_init=None, reduce_res_negate=False, "
        "name=None",
    old_signature="*, data, op0, operand0, reduce_op, reduce_res, reverse0=False, dtype=None, "
        "mask=None, **kwargs",
    limit=Limit(
        lambda k: nisa.tensor_scalar_reduce(tile(128, 40), tile(128, 40), nl.add, 1.0, nl.add,
            tile(128, k)), (1, 2),
        "operand 'reduce_res[128, 2]' of 'tensor_scalar_reduce' must have one element per "
        "partition, but it has 2."),
    costs=Cost("Vector",
        lambda n: nisa.tensor_scalar_reduce(wide(n), wide(n), nl.add, 1.0, nl.add, column()),
        EVERYWHERE, READ_ACCUMULATOR,
        old_body=lambda n: old_nisa.tensor_scalar_reduce(data=old_wide(n), op0=np.add, operand0=1.0,
            reduce_op=np.add, reduce_res=old_wide(1))),
    example_test="test_isa_selections::test_tensor_scalar_reduce_reduces_what_it_writes",
)  # fmt: skip
