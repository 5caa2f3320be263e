"""A limit of each function of nki.isa: a call at it, one beyond it, and the sentence that says so.

The limits are those of the vendor's function pages; the builder's sentences name instruction,
operand, value and limit.
"""

from collections.abc import Callable
from dataclasses import dataclass

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
from isa_costs import tile


@dataclass(frozen=True)
class Limit:
    """`body(allowed)` is emitted, `body(refused)` is not: an error of that type and sentence."""

    architecture: str
    body: Callable
    allowed: object
    refused: object
    error: type
    sentence: str


def hbm(*shape, dtype=nl.float32):
    """A tensor in HBM."""
    return nl.ndarray(shape, dtype, buffer=nl.hbm)


LIMITS = {
    "nc_matmul": Limit(
        "trn2", lambda k: nisa.nc_matmul(tile(128, k, psum=True), tile(128, 128,
            dtype=nl.bfloat16), tile(128, k, dtype=nl.bfloat16)), 512, 513, ValueError,
        "size of dimension 1 in 'moving[128, 513]' of 'nc_matmul' exceed architecture "
        "limitation of 512. (architecture trn2)",
    ),
    "nc_matmul_mx": Limit(
        "trn3", lambda k: nisa.nc_matmul_mx(tile(128, 128, psum=True), tile(k, 128,
            dtype=nl.float8_e4m3fn_x4), tile(k, 128, dtype=nl.float8_e4m3fn_x4), tile(k, 128,
            dtype=nl.uint8), tile(k, 128, dtype=nl.uint8)), 64, 48, ValueError,
        "number of partitions 48 of operand 'stationary' of 'nc_matmul_mx' must be a multiple"
        " of 32.",
    ),
    "nc_transpose": Limit(
        "trn2", lambda k: nisa.nc_transpose(tile(k, 32), tile(32, k), engine=nisa.engine.vector),
            32, 33, ValueError,
        "size of dimension 1 in 'data[32, 33]' of 'nc_transpose' exceed architecture "
        "limitation of 32. (architecture trn2)",
    ),
    "dma_copy": Limit(
        "trn2", lambda k: nisa.dma_copy(tile(128, 64), tile(128, k)), 64, 65, ValueError,
        "'dma_copy' needs equal element counts, but dst tensor[128, 64] has 8192 and src "
        "tensor[128, 65] has 8320.",
    ),
    "dma_transpose": Limit(
        "trn2", lambda k: nisa.dma_transpose(tile(128, 64, dtype=nl.bfloat16), hbm(64, k,
            dtype=nl.bfloat16)), 128, 127, ValueError,
        "operand 'dst' of 'dma_transpose' is tensor[128, 64], which is not the shape of the "
        "transpose of tensor[64, 127].",
    ),
    "dma_compute": Limit(
        "trn2", lambda k: nisa.dma_compute(tile(128, 8), [tile(128, 8) for _ in range(k)],
            nl.add), 16, 17, ValueError,
        "'dma_compute' has 17 sources, but must have 1 to 16.",
    ),
    "tensor_copy": Limit(
        "trn2", lambda k: nisa.tensor_copy(tile(128, 40), tile(128, k)), 40, 41, ValueError,
        "number of elements per partition mismatch in parameters (dst[128, 40], src[128, 41])"
        " of 'tensor_copy'",
    ),
    "tensor_copy_predicated": Limit(
        "trn2", lambda k: nisa.tensor_copy_predicated(tile(128, 40), tile(128, 40), tile(128, k,
            dtype=nl.uint8)), 40, 41, ValueError,
        "number of elements per partition mismatch in parameters (dst[128, 40], "
        "predicate[128, 41]) of 'tensor_copy_predicated'",
    ),
    "memset": Limit(
        "trn2", lambda k: nisa.memset(tile(128, 8), 1.0, engine=k), nisa.engine.vector,
            nisa.engine.scalar, ValueError,
        "instruction 'memset' cannot run on the Scalar engine; architecture trn2 has it on: "
        "Vector, GpSimd.",
    ),
    "tensor_tensor": Limit(
        "trn2", lambda k: nisa.tensor_tensor(tile(128, 40), tile(128, 40), tile(k, 40), nl.add),
            128, 127, ValueError,
        "number of partitions (dimension 0 size of a tile) mismatch in parameters (data1[128,"
        " 40], data2[127, 40]) of 'tensor_tensor'",
    ),
    "tensor_scalar": Limit(
        "trn2", lambda k: nisa.tensor_scalar(tile(128, 40), tile(128, 40), nl.add, tile(128, k)),
            1, 2, ValueError,
        "operand 'operand0[128, 2]' of 'tensor_scalar' must have one element per partition, "
        "but it has 2.",
    ),
    "scalar_tensor_tensor": Limit(
        "trn2", lambda k: nisa.scalar_tensor_tensor(tile(128, 40), tile(128, 40), nl.add, 1.0,
            nl.multiply, tile(128, k)), 40, 39, ValueError,
        "number of elements per partition mismatch in parameters (dst[128, 40], operand1[128,"
        " 39]) of 'scalar_tensor_tensor'",
    ),
    "tensor_scalar_reduce": Limit(
        "trn2", lambda k: nisa.tensor_scalar_reduce(tile(128, 40), tile(128, 40), nl.add, 1.0,
            nl.add, tile(128, k)), 1, 2, ValueError,
        "operand 'reduce_res[128, 2]' of 'tensor_scalar_reduce' must have one element per "
        "partition, but it has 2.",
    ),
    "tensor_scalar_cumulative": Limit(
        "trn2", lambda k: nisa.tensor_scalar_cumulative(tile(128, 40), tile(128, k), nl.multiply,
            nl.add, 1.0), 40, 41, ValueError,
        "number of elements per partition mismatch in parameters (dst[128, 40], src[128, 41])"
        " of 'tensor_scalar_cumulative'",
    ),
    "tensor_tensor_scan": Limit(
        "trn2", lambda k: nisa.tensor_tensor_scan(tile(128, 40), tile(128, 40), tile(128, k), 0.0,
            nl.multiply, nl.add), 40, 41, ValueError,
        "number of elements per partition mismatch in parameters (dst[128, 40], data1[128, "
        "41]) of 'tensor_tensor_scan'",
    ),
    "tensor_reduce": Limit(
        "trn2", lambda k: nisa.tensor_reduce(tile(128, k), nl.add, tile(128, 40), 1), 1, 2,
            ValueError,
        "operand 'dst' of 'tensor_reduce' (tensor[128, 2]) must have 1 elements per "
        "partition: operand 'data' (tensor[128, 40]) without its last 1 dimensions.",
    ),
    "tensor_partition_reduce": Limit(
        "trn2", lambda k: nisa.tensor_partition_reduce(tile(1, k), nl.add, tile(128, 40)), 40, 41,
            ValueError,
        "number of elements per partition mismatch in parameters (dst[1, 41], data[128, 40]) "
        "of 'tensor_partition_reduce'",
    ),
    "activation": Limit(
        "trn2", lambda k: nisa.activation(tile(128, 40), nl.exp, tile(128, 40), bias=tile(128,
            k)), 1, 2, ValueError,
        "operand 'bias[128, 2]' of 'activation' must have one element per partition, but it "
        "has 2.",
    ),
    "activation_reduce": Limit(
        "trn2", lambda k: nisa.activation_reduce(tile(128, 40), nl.exp, tile(128, 40), nl.add,
            tile(128, k)), 1, 2, ValueError,
        "operand 'reduce_res[128, 2]' of 'activation_reduce' must have one element per "
        "partition, but it has 2.",
    ),
    "activate2": Limit(
        "trn3", lambda k: nisa.activate2(tile(128, 40), nl.exp, tile(128, 40), tile(128, k), 0.0,
            nl.multiply, nl.add), 1, 2, ValueError,
        "operand 'imm0[128, 2]' of 'activate2' must have one element per partition, but it "
        "has 2.",
    ),
    "exponential": Limit(
        "trn3", lambda k: nisa.exponential(tile(128, 40), tile(128, 40), tile(128, k)), 1, 2,
            ValueError,
        "operand 'max_value[128, 2]' of 'exponential' must have one element per partition, "
        "but it has 2.",
    ),
    "reciprocal": Limit(
        "trn2", lambda k: nisa.reciprocal(tile(128, 40), tile(128, k)), 40, 41, ValueError,
        "number of elements per partition mismatch in parameters (dst[128, 40], data[128, "
        "41]) of 'reciprocal'",
    ),
    "bn_stats": Limit(
        "trn2", lambda k: nisa.bn_stats(tile(128, 6), tile(128, k)), 512, 513, ValueError,
        "size of dimension 1 in 'data[128, 513]' of 'bn_stats' exceed architecture limitation"
        " of 512. (architecture trn2)",
    ),
    "bn_aggr": Limit(
        "trn2", lambda k: nisa.bn_aggr(tile(128, 2), tile(128, k)), 12, 13, ValueError,
        "operand 'data' of 'bn_aggr' has 13 elements per partition, but must have a multiple "
        "of 3.",
    ),
    "select_reduce": Limit(
        "trn2", lambda k: nisa.select_reduce(tile(128, 40), tile(128, 40, dtype=nl.uint8),
            tile(128, 40), 0.0, tile(128, k), reduce_cmd=nisa.reduce_cmd.reset_reduce), 1, 2,
            ValueError,
        "operand 'reduce_res[128, 2]' of 'select_reduce' must have one element per partition,"
        " but it has 2.",
    ),
    "range_select": Limit(
        "trn2", lambda k: nisa.range_select(tile(128, 40), tile(128, 40), nl.greater_equal,
            nl.less, tile(128, 1), tile(128, k), reduce_res=tile(128, 1)), 1, 2, ValueError,
        "operand 'bound1[128, 2]' of 'range_select' must have one element per partition, but "
        "it has 2.",
    ),
    "affine_select": Limit(
        "trn2", lambda k: nisa.affine_select(tile(128, 40), [[1, k]], 1, tile(128, 40), 0.0), 40,
            41, ValueError,
        "size0 41 of the pattern of 'affine_select' must be from 1 to the 40 elements per "
        "partition of operand 'dst'.",
    ),
    "iota": Limit(
        "trn2", lambda k: nisa.iota(tile(128, 40), [[1, k]]), 40, 41, ValueError,
        "size0 41 of the pattern of 'iota' must be from 1 to the 40 elements per partition of"
        " operand 'dst'.",
    ),
    "dropout": Limit(
        "trn2", lambda k: nisa.dropout(tile(128, 40), tile(128, 40), tile(128, k)), 1, 2,
            ValueError,
        "operand 'prob[128, 2]' of 'dropout' must have one element per partition, but it has "
        "2.",
    ),
    "local_gather": Limit(
        "trn2", lambda k: nisa.local_gather(tile(128, 64), tile(128, 64), tile(128, 4,
            dtype=nl.uint16), num_elem_per_idx=k), 1, 3, ValueError,
        "num_elem_per_idx 3 of 'local_gather' is not supported; expected 1, 2, 4, 8, 16 or "
        "32.",
    ),
    "nc_n_gather": Limit(
        "trn2", lambda k: nisa.nc_n_gather(tile(128, 40), tile(128, 40), tile(128, 40, dtype=k)),
            nl.uint32, nl.int32, TypeError,
        "dtype int32 of operand 'indices' of 'nc_n_gather' is not supported; expected uint32.",
    ),
    "nc_stream_shuffle": Limit(
        "trn2", lambda k: nisa.nc_stream_shuffle(tile(128, 40), tile(128, 40), [k] * 32), 31, 32,
            ValueError,
        "shuffle_mask[0] of 'nc_stream_shuffle' is 32, but must be 0 to 31, or 255 to leave "
        "the partition unchanged.",
    ),
    "max8": Limit(
        "trn2", lambda k: nisa.max8(tile(128, 8), tile(128, k)), 8, 7, ValueError,
        "operand 'src' of 'max8' has 7 elements per partition; architecture trn2 allows 8 to "
        "16384.",
    ),
    "nc_find_index8": Limit(
        "trn2", lambda k: nisa.nc_find_index8(tile(128, 8, dtype=nl.uint32), tile(128, 40),
            tile(128, k)), 8, 9, ValueError,
        "operand 'vals' of 'nc_find_index8' has 9 elements per partition, but must have 8.",
    ),
    "nc_match_replace8": Limit(
        "trn2", lambda k: nisa.nc_match_replace8(tile(128, 40), tile(128, 40), tile(128, k), 0.0),
            8, 9, ValueError,
        "operand 'vals' of 'nc_match_replace8' has 9 elements per partition, but must have 8.",
    ),
    "topk": Limit(
        "trn2", lambda k: nisa.topk(tile(128, 1, dtype=nl.bfloat16), tile(128, 1,
            dtype=nl.uint32), tile(128, 16, dtype=nl.bfloat16), k), 256, 257, ValueError,
        "n 257 of 'topk' exceeds the 256 elements in 16 partitions of operand 'src' "
        "(tensor[128, 16]).",
    ),
    "nonzero_with_count": Limit(
        "trn2", lambda k: nisa.nonzero_with_count(tile(128, k, dtype=nl.int32), tile(128, 40,
            dtype=nl.int32)), 41, 40, ValueError,
        "operand 'dst' of 'nonzero_with_count' (tensor[128, 40]) must have 41 elements per "
        "partition, one more than operand 'src' (tensor[128, 40]).",
    ),
    "sequence_bounds": Limit(
        "trn2", lambda k: nisa.sequence_bounds(tile(1, 2, k), tile(1, 40)), 40, 41, ValueError,
        "operand 'dst' of 'sequence_bounds' is tensor[1, 2, 41], but must be [1, 2, 40] for "
        "operand 'segment_ids' (tensor[1, 40]).",
    ),
    "rng": Limit(
        "trn2", lambda k: nisa.rng(tile(128, 40, dtype=nl.uint32), engine=k), nisa.engine.vector,
            nisa.engine.scalar, ValueError,
        "instruction 'rng' cannot run on the Scalar engine; architecture trn2 has it on: "
        "Vector, GpSimd.",
    ),
    "rand2": Limit(
        "trn3", lambda k: nisa.rand2(tile(128, 40), tile(128, k), 1.0), 1, 2, ValueError,
        "operand 'min[128, 2]' of 'rand2' must have one element per partition, but it has 2.",
    ),
    "set_rng_seed": Limit(
        "trn2", lambda k: nisa.set_rng_seed(tile(1, k, dtype=nl.uint32)), 1, 2, ValueError,
        "operand 'src_seeds' of 'set_rng_seed' must be a [1, 1] tile, but it is tensor[1, 2].",
    ),
    "rand_set_state": Limit(
        "trn2", lambda k: nisa.rand_set_state(tile(128, k, dtype=nl.uint32)), 6, 7, ValueError,
        "operand 'src_seeds' of 'rand_set_state' has 7 elements per partition; the random "
        "state of a lane of the GpSimd engine has 6.",
    ),
    "rand_get_state": Limit(
        "trn2", lambda k: nisa.rand_get_state(tile(128, k, dtype=nl.uint32)), 6, 7, ValueError,
        "operand 'dst' of 'rand_get_state' has 7 elements per partition; the random state of "
        "a lane of the GpSimd engine has 6.",
    ),
    "quantize_mx": Limit(
        "trn3", lambda k: nisa.quantize_mx(tile(k, 32, dtype=nl.float8_e4m3fn_x4), tile(k, 128,
            dtype=nl.bfloat16), tile(k, 32, dtype=nl.uint8)), 64, 48, ValueError,
        "number of partitions 48 of operand 'dst' of 'quantize_mx' must be a multiple of 32.",
    ),
    "register_alloc": Limit(
        "trn2", lambda k: nisa.register_alloc(tile(1, k, dtype=nl.int32)), 1, 2, ValueError,
        "operand 'x' of 'register_alloc' is tensor[1, 2], but must have one element.",
    ),
    "register_move": Limit(
        "trn2", lambda k: nisa.register_move(nisa.register_alloc(1), k), 2 ** 31 - 1, 2 ** 32,
            ValueError,
        "src 4294967296 of 'register_move' does not fit into the 32 bits of a register.",
    ),
    "register_load": Limit(
        "trn2", lambda k: nisa.register_load(nisa.register_alloc(1), tile(1, k, dtype=nl.int32)),
            1, 2, ValueError,
        "operand 'src' of 'register_load' is tensor[1, 2], but must have one element.",
    ),
    "register_store": Limit(
        "trn2", lambda k: nisa.register_store(tile(1, k, dtype=nl.int32), nisa.register_alloc(1)),
            1, 2, ValueError,
        "operand 'dst' of 'register_store' is tensor[1, 2], but must have one element.",
    ),
    "get_nc_version": Limit(
        "trn2", lambda k: nisa.get_nc_version(*k), (), (1,), TypeError,
        "get_nc_version() takes 0 positional arguments but 1 was given",
    ),
    "get_nc_sub_version": Limit(
        "trn2", lambda k: nisa.get_nc_sub_version(*k), (), (1,), TypeError,
        "get_nc_sub_version() takes 0 positional arguments but 1 was given",
    ),
}  # fmt: skip
