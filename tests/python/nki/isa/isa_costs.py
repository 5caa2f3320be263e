"""What instructions cost by the vendor's documents: engine, cycles per element, cycles besides.

The cycles per element of Trn1 are those of the function pages of NKI (SDK 2.26, the last with
formulas, written for NeuronCore-v2); those of Trn2 and Trn3 differ where their architecture guides
say so, and for fp32 on Trn2, where profiles of the chip show 1 cycle for two operands in SBUF and
1/2 for one beside a number. `undocumented`: no document gives a cost, the number is the device
model's assumption. None: the architecture does not have the instruction.
"""

from collections.abc import Callable
from dataclasses import dataclass

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl

ARCHITECTURES = ("trn1", "trn2", "trn3")

#: GHz, of the architecture guides.
CLOCKS = {
    "Vector": {"trn1": 1.12, "trn2": 0.96, "trn3": 1.2},
    "Scalar": {"trn1": 1.4, "trn2": 1.2, "trn3": 1.2},
    "GpSimd": {"trn1": 1.4, "trn2": 1.2, "trn3": 1.2},
}

#: Cycles until the first element: "about 60" of an access (Vector, Scalar), "about 150" of GpSimd.
START = {"Vector": 60, "Scalar": 60, "GpSimd": 150}
START_TOLERANCE = 6

#: MIN_II of the documents: what reading an accumulator takes besides.
READ_ACCUMULATOR = 64


@dataclass(frozen=True)
class Cost:
    """`body(n)` emits the instruction for n elements per partition; `cycles`: per element and
    architecture; `extra`: cycles besides the engine's start."""

    engine: str
    body: Callable
    cycles: tuple
    extra: float = 0
    undocumented: bool = False


def tile(*shape, dtype=nl.float32, psum=False):
    """An uninitialised tile: its contents do not matter to the time."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.psum if psum else nl.sbuf)


def wide(n, dtype=nl.float32, psum=False):
    """[128, n]."""
    return tile(128, n, dtype=dtype, psum=psum)


def column(dtype=nl.float32):
    """[128, 1]."""
    return tile(128, 1, dtype=dtype)


def _half(n, psum=False):
    return wide(n, nl.bfloat16, psum)


_EVERYWHERE = (1, 1, 1)
_TWO_IN_SBUF = (2, 1, 2)  # fp32
_V, _S, _G = "Vector", "Scalar", "GpSimd"

COSTS = {
    "tensor_copy": Cost(_V, lambda n: nisa.tensor_copy(wide(n), wide(n), engine=nisa.engine.vector),
                        _EVERYWHERE),
    "tensor_copy of bf16": Cost(
        _V, lambda n: nisa.tensor_copy(_half(n), _half(n), engine=nisa.engine.vector),
        (1, 1 / 4, 1 / 4),
    ),
    "tensor_copy of bf16 from PSUM": Cost(
        _V, lambda n: nisa.tensor_copy(_half(n), _half(n, True), engine=nisa.engine.vector),
        (1, 1 / 2, 1 / 2),
    ),
    "tensor_copy on Scalar": Cost(
        _S, lambda n: nisa.tensor_copy(wide(n), wide(n), engine=nisa.engine.scalar), _EVERYWHERE
    ),
    "tensor_copy of bf16 on Scalar": Cost(
        _S, lambda n: nisa.tensor_copy(_half(n), _half(n), engine=nisa.engine.scalar),
        (1, 1, 1 / 2),
    ),
    "tensor_copy on GpSimd": Cost(
        _G, lambda n: nisa.tensor_copy(wide(n), wide(n), engine=nisa.engine.gpsimd), _EVERYWHERE
    ),
    "tensor_copy_predicated": Cost(
        _V, lambda n: nisa.tensor_copy_predicated(wide(n), wide(n), wide(n, nl.uint8)),
        _TWO_IN_SBUF,
    ),
    "tensor_copy_predicated from PSUM": Cost(
        _V, lambda n: nisa.tensor_copy_predicated(wide(n), wide(n, psum=True), wide(n, nl.uint8)),
        _EVERYWHERE,
    ),
    "memset": Cost(_V, lambda n: nisa.memset(wide(n), 1.0, engine=nisa.engine.vector), _EVERYWHERE),
    "memset of bf16 to 0": Cost(
        _V, lambda n: nisa.memset(_half(n), 0.0, engine=nisa.engine.vector), (1 / 2,) * 3
    ),
    "tensor_tensor": Cost(
        _V, lambda n: nisa.tensor_tensor(wide(n), wide(n), wide(n), nl.add), _TWO_IN_SBUF
    ),
    "tensor_tensor with PSUM": Cost(
        _V, lambda n: nisa.tensor_tensor(wide(n), wide(n), wide(n, psum=True), nl.add), _EVERYWHERE
    ),
    "tensor_tensor of bf16": Cost(
        _V, lambda n: nisa.tensor_tensor(_half(n), _half(n), _half(n), nl.add), _EVERYWHERE
    ),
    "tensor_scalar": Cost(
        _V, lambda n: nisa.tensor_scalar(wide(n), wide(n), nl.add, 1.0), (1, 1 / 2, 1 / 2)
    ),
    "tensor_scalar of bf16": Cost(
        _V, lambda n: nisa.tensor_scalar(_half(n), _half(n), nl.add, 1.0), (1, 1 / 4, 1 / 4)
    ),
    "tensor_scalar on GpSimd": Cost(
        _G,
        lambda n: nisa.tensor_scalar(wide(n), wide(n), nl.rsqrt, 0.0, engine=nisa.engine.gpsimd),
        (4, 4, 4),
    ),
    "scalar_tensor_tensor": Cost(
        _V,
        lambda n: nisa.scalar_tensor_tensor(wide(n), wide(n), nl.add, 1.0, nl.multiply, wide(n)),
        _TWO_IN_SBUF,
    ),
    "tensor_scalar_reduce": Cost(
        _V,
        lambda n: nisa.tensor_scalar_reduce(wide(n), wide(n), nl.add, 1.0, nl.add, column()),
        _EVERYWHERE,
        READ_ACCUMULATOR,
    ),
    "tensor_scalar_cumulative": Cost(
        _V,
        lambda n: nisa.tensor_scalar_cumulative(wide(n), wide(n), nl.multiply, nl.add, 1.0),
        (2, 2, 2),
        undocumented=True,
    ),
    "tensor_tensor_scan": Cost(
        _V,
        lambda n: nisa.tensor_tensor_scan(wide(n), wide(n), wide(n), 0.0, nl.multiply, nl.add),
        (2, 2, 2),
    ),
    "tensor_reduce": Cost(
        _V, lambda n: nisa.tensor_reduce(column(), nl.add, wide(n), 1), _EVERYWHERE
    ),
    "tensor_reduce of bf16": Cost(
        _V, lambda n: nisa.tensor_reduce(column(nl.bfloat16), nl.add, _half(n), 1), (1 / 2,) * 3
    ),
    "tensor_partition_reduce": Cost(
        _G, lambda n: nisa.tensor_partition_reduce(tile(1, n), nl.add, wide(n)), (8, 8, 8),
        undocumented=True,
    ),
    "activation": Cost(_S, lambda n: nisa.activation(wide(n), nl.copy, wide(n)), _EVERYWHERE),
    "activation with a sum": Cost(
        _S,
        lambda n: nisa.activation(
            wide(n), nl.copy, wide(n), reduce_op=nl.add, reduce_res=column(),
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        ),
        _EVERYWHERE,
        READ_ACCUMULATOR,
    ),
    "activation_reduce": Cost(
        _S,
        lambda n: nisa.activation_reduce(wide(n), nl.copy, wide(n), nl.add, column()),
        _EVERYWHERE,
        READ_ACCUMULATOR,
    ),
    "activate2": Cost(
        _S,
        lambda n: nisa.activate2(wide(n), nl.copy, wide(n), 1.0, 0.0, nl.multiply, nl.add),
        (None, None, 1),
        undocumented=True,
    ),
    "exponential": Cost(
        _V, lambda n: nisa.exponential(_half(n), _half(n)), (None, None, 1 / 4)
    ),
    # Documented as 8; a measured kernel of trn1 refutes it (docs/hardware_facts.md#reciprocal).
    "reciprocal": Cost(_V, lambda n: nisa.reciprocal(wide(n), wide(n)), (2.6, 8, 8)),
    "bn_stats": Cost(_V, lambda n: nisa.bn_stats(tile(128, 6), wide(n)), _EVERYWHERE),
    "bn_aggr": Cost(_V, lambda n: nisa.bn_aggr(tile(128, 2), wide(3 * n)), (13, 13, 13)),
    "select_reduce": Cost(
        _V, lambda n: nisa.select_reduce(wide(n), wide(n, nl.uint8), wide(n), 0.0), _TWO_IN_SBUF,
        undocumented=True,
    ),
    "range_select": Cost(
        _V,
        lambda n: nisa.range_select(
            wide(n), wide(n), nl.greater_equal, nl.less, column(), column(), reduce_res=column()
        ),
        (None, 1, 1),
        READ_ACCUMULATOR,
    ),
    "affine_select": Cost(
        _G, lambda n: nisa.affine_select(wide(n), [[1, n]], 1, wide(n), 0.0), _EVERYWHERE
    ),
    "iota": Cost(_G, lambda n: nisa.iota(wide(n), [[1, n]]), _EVERYWHERE),
    "dropout": Cost(_V, lambda n: nisa.dropout(wide(n), wide(n), 0.5), _EVERYWHERE),
    # 16 indices per index element; C = ((28 + 4 e) / (4 e)) / min(4 / itemsize, e) with e = 1.
    "local_gather": Cost(
        _G,
        lambda n: nisa.local_gather(wide(n), wide(512), wide(n // 16, nl.uint16)),
        (1 / 8, 1 / 8, 1 / 8),
    ),
    "nc_n_gather": Cost(
        _G, lambda n: nisa.nc_n_gather(wide(n), wide(n), wide(n, nl.uint32)), (2, 2, 2),
        undocumented=True,
    ),
    "nc_stream_shuffle": Cost(
        _V, lambda n: nisa.nc_stream_shuffle(wide(n), wide(n), list(range(32))), _EVERYWHERE
    ),
    "max8": Cost(_V, lambda n: nisa.max8(tile(128, 8), wide(n)), _EVERYWHERE),
    "nc_find_index8": Cost(
        _V,
        lambda n: nisa.nc_find_index8(tile(128, 8, dtype=nl.uint32), wide(n), tile(128, 8)),
        _EVERYWHERE,
    ),
    "nc_match_replace8": Cost(
        _V, lambda n: nisa.nc_match_replace8(wide(n), wide(n), tile(128, 8), 0.0), _EVERYWHERE
    ),
    # 4 n + K, K = 1 result per partition.
    "topk": Cost(
        _G,
        lambda n: nisa.topk(column(nl.bfloat16), column(nl.uint32), _half(n // 16), n),
        (4, 4, 4),
        extra=1,
    ),
    "nonzero_with_count": Cost(
        _G,
        lambda n: nisa.nonzero_with_count(wide(n + 1, nl.int32), wide(n, nl.int32)),
        (None, 2, 2),
        undocumented=True,
    ),
    "sequence_bounds": Cost(
        _G, lambda n: nisa.sequence_bounds(tile(1, 2, n), tile(1, n)), (2, 2, 2), undocumented=True
    ),
    "rng": Cost(_V, lambda n: nisa.rng(wide(n, nl.uint32)), _EVERYWHERE, undocumented=True),
    "rand2": Cost(_V, lambda n: nisa.rand2(wide(n), 0.0, 1.0), (None, None, 1 / 4)),
    "quantize_mx": Cost(
        _V,
        lambda n: nisa.quantize_mx(
            wide(n // 4, nl.float8_e4m3fn_x4), _half(n), wide(n // 4, nl.uint8)
        ),
        (None, None, 1 / 4),
    ),
    # One element, or the state of a lane: nothing grows.
    "set_rng_seed": Cost(
        _V, lambda n: nisa.set_rng_seed(tile(1, 1, dtype=nl.uint32)), (0, 0, 0), 1,
        undocumented=True,
    ),
    "rand_set_state": Cost(
        _G, lambda n: nisa.rand_set_state(wide(6, nl.uint32)), (None, 0, 0), 6, undocumented=True
    ),
    "rand_get_state": Cost(
        _G, lambda n: nisa.rand_get_state(wide(6, nl.uint32)), (None, 0, 0), 6, undocumented=True
    ),
    # [32, 32] on the Vector engine: a cycle per element of a partition.
    "nc_transpose on Vector": Cost(
        _V,
        lambda n: nisa.nc_transpose(tile(32, 32), tile(32, 32), engine=nisa.engine.vector),
        (0, 0, 0),
        32,
    ),
}  # fmt: skip
