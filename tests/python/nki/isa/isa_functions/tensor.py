"""Products, transposes and quantisation for the Tensor engine."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import uniform

from .function import Cost, Example, Function, Limit
from .tiles import half, hundreds, tile, wide


def _sum_of_16_products(a, b):
    total = old_nl.zeros((64, 512), old_nl.float32, buffer=old_nl.psum)
    for i in old_nl.affine_range(16):
        columns = old_nl.arange(64)[None, :]
        part = a[old_nl.arange(128)[:, None], i * 64 + columns]
        total += old_nisa.nc_matmul(part, b[:, i * 512 : (i + 1) * 512])
    return old_nl.copy(total)


def _products(a, b):
    return sum(a[:, i * 64 : i * 64 + 64].T @ b[:, i * 512 : i * 512 + 512] for i in range(16))


nc_matmul = Function(
    signature="dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False, "
        "is_transpose=False, accumulate=None, tile_position=(), tile_size=(), "
        "perf_mode=matmul_perf_mode.none, name=None",
    old_signature="stationary, moving, *, is_stationary_onezero=False, is_moving_onezero=False, "
        "is_transpose=False, tile_position=(), tile_size=(), mask=None, **kwargs",
    limit=Limit(
        lambda k: nisa.nc_matmul(tile(128, k, psum=True), tile(128, 128, dtype=nl.bfloat16),
            tile(128, k, dtype=nl.bfloat16)), (512, 513),
        "size of dimension 1 in 'moving[128, 513]' of 'nc_matmul' exceed architecture limitation "
        "of 512. (architecture trn2)"),
    examples={
        "": Example(lambda a, b: old_nl.copy(old_nisa.nc_matmul(a, b)),
            [uniform(128, 128), uniform(128, 512)], lambda a, b: a.T @ b),
        "in a loop": Example(_sum_of_16_products, [uniform(128, 16 * 64), uniform(128, 16 * 512)],
            _products),
    },
    cost_test="test_isa_costs::test_a_product_streams_a_column_per_cycle_and_pass",
)  # fmt: skip
nc_matmul_mx = Function(
    signature="dst, stationary, moving, stationary_scale, moving_scale, tile_position=None, "
        "tile_size=None, accumulate=None, name=None",
    limit=Limit(
        lambda k: nisa.nc_matmul_mx(tile(128, 128, psum=True),
            tile(k, 128, dtype=nl.float8_e4m3fn_x4), tile(k, 128, dtype=nl.float8_e4m3fn_x4),
            tile(k, 128, dtype=nl.uint8), tile(k, 128, dtype=nl.uint8)), (64, 48),
        "number of partitions 48 of operand 'stationary' of 'nc_matmul_mx' must be a multiple of "
        "32.", architecture="trn3"),
    example_test="test_isa_gathers::test_quantize_mx_and_its_product_on_trn3",
    cost_test="test_isa_costs::test_a_product_of_packed_values_costs_what_one_of_bf16_does",
)  # fmt: skip
nc_transpose = Function(
    signature="dst, data, engine=engine.unknown, name=None",
    old_signature="data, *, mask=None, dtype=None, engine=engine.unknown, **kwargs",
    limit=Limit(
        lambda k: nisa.nc_transpose(tile(k, 32), tile(32, k), engine=nisa.engine.vector),
        (32, 33),
        "size of dimension 1 in 'data[32, 33]' of 'nc_transpose' exceed architecture "
        "limitation of 32. (architecture trn2)",
    ),
    costs={  # [32, 32]: a cycle per element of a partition.
        "on Vector": Cost(
            "Vector",
            lambda n: nisa.nc_transpose(tile(32, 32), tile(32, 32), engine=nisa.engine.vector),
            (0, 0, 0),
            32,
            old_body=lambda n: old_nisa.nc_transpose(
                old_nl.ndarray((32, 32), dtype=old_nl.float32, buffer=old_nl.sbuf),
                engine=old_nisa.vector_engine,
            ),
        )
    },
    examples={
        "": Example(
            lambda a: old_nl.copy(old_nisa.nc_transpose(a)), [hundreds(128, 64)], np.transpose
        ),
        "on Vector": Example(
            lambda a: old_nisa.nc_transpose(a, engine=old_nisa.vector_engine),
            [hundreds(32, 2)],
            np.transpose,
        ),
    },
    cost_test="test_isa_costs::"
    "test_a_transpose_of_bf16_on_the_tensor_engine_is_a_product_of_its_columns",
)
quantize_mx = Function(
    signature="dst, src, dst_scale, name=None",
    limit=Limit(
        lambda k: nisa.quantize_mx(tile(k, 32, dtype=nl.float8_e4m3fn_x4),
            tile(k, 128, dtype=nl.bfloat16), tile(k, 32, dtype=nl.uint8)), (64, 48),
        "number of partitions 48 of operand 'dst' of 'quantize_mx' must be a multiple of 32.",
        architecture="trn3"),
    costs=Cost("Vector",
        lambda n: nisa.quantize_mx(wide(n // 4, nl.float8_e4m3fn_x4), half(n),
            wide(n // 4, nl.uint8)), (None, None, 1 / 4)),
    example_test="test_isa_gathers::test_quantize_mx_and_its_product_on_trn3",
)  # fmt: skip
