"""Copies within the core, constants and patterns of numbers."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import integers

from .function import EVERYWHERE, TWO_IN_SBUF, Cost, Example, Function, Limit
from .tiles import half, hundreds, old_half, old_wide, tile, wide

COLUMNS = np.arange(512)[None, :]
PARTITIONS = np.arange(128)[:, None]


def _columns():
    return old_nl.arange(0, 512)[None, :]


def _partitions():
    return old_nl.arange(0, 128)[:, None]


def _iota(n):
    return old_nisa.iota(
        old_nl.arange(128)[:, None] + old_nl.arange(n)[None, :], dtype=old_nl.float32
    )


def _predicated(predicate, on_true, on_false):
    i_p, i_f = old_nl.mgrid[0:128, 0:512]
    dst = old_nl.zeros(shape=on_true.shape, dtype=on_true.dtype)
    dst[i_p, i_f] = old_nl.copy(on_false)
    old_nisa.tensor_copy_predicated(src=on_true, dst=dst, predicate=predicate)
    return dst


iota = Function(
    signature="dst, pattern, offset=0, channel_multiplier=0, name=None",
    old_signature="expr, dtype, *, mask=None, **kwargs",
    limit=Limit(lambda k: nisa.iota(tile(128, 40), [[1, k]]), (40, 41),
        "size0 41 of the pattern of 'iota' must be from 1 to the 40 elements per partition of "
        "operand 'dst'."),
    costs=Cost("GpSimd", lambda n: nisa.iota(wide(n), [[1, n]]), EVERYWHERE, old_body=_iota),
    examples={
        "of columns": Example(lambda: old_nisa.iota(_columns(), dtype=old_nl.int32), [],
            lambda: COLUMNS),
        "of partitions": Example(lambda: old_nisa.iota(_partitions(), dtype=old_nl.int32), [],
            lambda: PARTITIONS),
        "downwards": Example(lambda: old_nisa.iota(_columns() * -1, dtype=old_nl.int32), [],
            lambda: -COLUMNS),
        "in steps": Example(lambda: old_nisa.iota(5 + _partitions() * 2, dtype=old_nl.int32), [],
            lambda: 5 + PARTITIONS * 2),
        "of both": Example(lambda: old_nisa.iota(_columns() + _partitions(), dtype=old_nl.int32),
            [], lambda: COLUMNS + PARTITIONS),
    },
)  # fmt: skip
memset = Function(
    signature="dst, value, engine=engine.unknown, name=None",
    old_signature="shape, value, dtype, *, mask=None, engine=engine.unknown, **kwargs",
    limit=Limit(lambda k: nisa.memset(tile(128, 8), 1.0, engine=k),
        (nisa.engine.vector, nisa.engine.scalar),
        "instruction 'memset' cannot run on the Scalar engine; architecture trn2 has it on: "
        "Vector, GpSimd."),
    costs={
        "": Cost("Vector", lambda n: nisa.memset(wide(n), 1.0, engine=nisa.engine.vector),
            EVERYWHERE,
            old_body=lambda n: old_nisa.memset((128, n), 1.0, old_nl.float32,
                engine=old_nisa.vector_engine)),
        "of bf16 to 0": Cost("Vector",
            lambda n: nisa.memset(half(n), 0.0, engine=nisa.engine.vector), (1 / 2,) * 3,
            old_body=lambda n: old_nisa.memset((128, n), 0.0, old_nl.bfloat16,
                engine=old_nisa.vector_engine)),
    },
    examples=Example(lambda: old_nisa.memset(shape=(128, 128), value=0.2, dtype=old_nl.float32), [],
        lambda: np.full((128, 128), 0.2)),
)  # fmt: skip
tensor_copy = Function(
    signature="dst, src, engine=engine.unknown, name=None, dtype=None",
    old_signature="src, *, mask=None, dtype=None, engine=engine.unknown, **kwargs",
    limit=Limit(lambda k: nisa.tensor_copy(tile(128, 40), tile(128, k)), (40, 41),
        "number of elements per partition mismatch in parameters (dst[128, 40], src[128, 41]) of "
        "'tensor_copy'"),
    costs={
        "": Cost("Vector", lambda n: nisa.tensor_copy(wide(n), wide(n), engine=nisa.engine.vector),
            EVERYWHERE,
            old_body=lambda n: old_nisa.tensor_copy(old_wide(n), engine=old_nisa.vector_engine)),
        "of bf16": Cost("Vector",
            lambda n: nisa.tensor_copy(half(n), half(n), engine=nisa.engine.vector),
            (1, 1 / 4, 1 / 4),
            old_body=lambda n: old_nisa.tensor_copy(old_half(n), engine=old_nisa.vector_engine)),
        "of bf16 from PSUM": Cost("Vector",
            lambda n: nisa.tensor_copy(half(n), half(n, True), engine=nisa.engine.vector),
            (1, 1 / 2, 1 / 2)),
        "on Scalar": Cost("Scalar",
            lambda n: nisa.tensor_copy(wide(n), wide(n), engine=nisa.engine.scalar), EVERYWHERE,
            old_body=lambda n: old_nisa.tensor_copy(old_wide(n), engine=old_nisa.scalar_engine)),
        "of bf16 on Scalar": Cost("Scalar",
            lambda n: nisa.tensor_copy(half(n), half(n), engine=nisa.engine.scalar), (1, 1, 1 / 2)),
        "on GpSimd": Cost("GpSimd",
            lambda n: nisa.tensor_copy(wide(n), wide(n), engine=nisa.engine.gpsimd), EVERYWHERE,
            old_body=lambda n: old_nisa.tensor_copy(old_wide(n), engine=old_nisa.gpsimd_engine)),
    },
    examples=Example(lambda a: old_nisa.tensor_copy(a, engine=old_nisa.vector_engine),
        [hundreds(8, 8)], lambda a: a),
)  # fmt: skip
tensor_copy_dynamic_dst = Function(
    example_test="test_old_dynamic::test_a_dynamic_destination_is_written_where_its_index_points",
    limit_test="test_old_dynamic::test_a_destination_that_points_outside_is_refused_too",
    cost_test="test_isa_costs::test_a_dynamic_copy_costs_at_least_600_cycles",
)
tensor_copy_dynamic_src = Function(
    example_test="test_old_dynamic::test_an_offset_and_a_range_after_it_are_a_slice",
    limit_test="test_old_dynamic::"
    "test_an_offset_that_points_outside_is_refused_when_the_kernel_runs",
    cost_test="test_isa_costs::test_a_dynamic_copy_costs_at_least_600_cycles",
)
tensor_copy_predicated = Function(
    signature="dst, src, predicate, reverse_pred=False, name=None",
    old_signature="*, src, dst, predicate, reverse_pred=False, mask=None, dtype=None, **kwargs",
    limit=Limit(
        lambda k: nisa.tensor_copy_predicated(tile(128, 40), tile(128, 40),
            tile(128, k, dtype=nl.uint8)), (40, 41),
        "number of elements per partition mismatch in parameters (dst[128, 40], predicate[128, "
        "41]) of 'tensor_copy_predicated'"),
    costs={
        "": Cost("Vector",
            lambda n: nisa.tensor_copy_predicated(wide(n), wide(n), wide(n, nl.uint8)), TWO_IN_SBUF,
            old_body=lambda n: old_nisa.tensor_copy_predicated(src=old_wide(n), dst=old_wide(n),
                predicate=old_wide(n, old_nl.uint8))),
        "from PSUM": Cost("Vector",
            lambda n: nisa.tensor_copy_predicated(wide(n), wide(n, psum=True), wide(n, nl.uint8)),
            EVERYWHERE),
    },
    examples=Example(_predicated,
        [integers(128, 512, high=2, dtype=np.uint8), hundreds(128, 512), hundreds(128, 512)],
        lambda p, a, b: np.where(p, a, b)),
)  # fmt: skip
