"""Copies, sums and transposes by DMA, and exchanges of two cores."""

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl

from .function import Function, Limit
from .tiles import hbm, tile


def _exchange(columns):
    other = 1 - nl.program_id(0)
    nisa.sendrecv(tile(32, 8), tile(32, columns), other, other, 0)


dma_compute = Function(
    signature="dst, srcs, reduce_op, scales=None, unique_indices=True, oob_mode=oob_mode.error, "
        "name=None",
    limit=Limit(lambda k: nisa.dma_compute(tile(128, 8), [tile(128, 8) for _ in range(k)], nl.add),
        (16, 17), "'dma_compute' has 17 sources, but must have 1 to 16."),
    example_test="test_isa_gathers::test_dma_compute_adds_tensors",
    cost_test="test_isa_costs_dma::test_a_sum_of_two_tensors_moves_them_at_half_of_the_rate",
)  # fmt: skip
dma_copy = Function(
    signature="dst, src, priority=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, "
        "engine=engine.unknown, name=None",
    old_signature="*, dst, src, mask=None, dst_rmw_op=None, oob_mode=oob_mode.error, "
        "dge_mode=dge_mode.unknown, **kwargs",
    limit=Limit(lambda k: nisa.dma_copy(tile(128, 64), tile(128, k)), (64, 65),
        "'dma_copy' needs equal element counts, but dst tensor[128, 64] has 8192 and src "
        "tensor[128, 65] has 8320."),
    example_test="test_isa_examples::test_dma_copy_gathers_rows_and_skips_those_beyond",
    cost_test="test_isa_costs_dma::test_a_copy_moves_the_bytes_of_16_engines",
)  # fmt: skip
dma_transpose = Function(
    signature="dst, src, axes=None, priority=None, dge_mode=dge_mode.unknown, "
        "oob_mode=oob_mode.error, name=None",
    old_signature="src, *, axes=None, mask=None, dtype=None, **kwargs",
    limit=Limit(
        lambda k: nisa.dma_transpose(tile(128, 64, dtype=nl.bfloat16),
            hbm(64, k, dtype=nl.bfloat16)), (128, 127),
        "operand 'dst' of 'dma_transpose' is tensor[128, 64], which is not the shape of the "
        "transpose of tensor[64, 127]."),
    example_test="test_isa_examples::test_dma_transpose_of_16_rows",
    cost_test="test_isa_costs_dma::test_a_transpose_reaches_at_most_90_percent_of_a_copy",
)  # fmt: skip
sendrecv = Function(
    signature="src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine=dma_engine.dma, "
        "name=None",
    limit=Limit(_exchange, (8, 9),
        "'sendrecv' needs the same shape and dtype, but dst is float32 tensor[32, 9] and src is "
        "float32 tensor[32, 8].", cores=2),
    example_test="test_isa_gathers::test_cores_exchange_tiles_and_wait_for_each_other",
    cost_test="test_isa_costs_dma::test_an_exchange_of_cores_moves_its_bytes_as_a_copy_does",
)  # fmt: skip
