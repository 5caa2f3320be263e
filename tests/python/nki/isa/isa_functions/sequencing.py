"""Barriers of two cores, registers, and queries of the target."""

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl

from .function import Function, Limit
from .tiles import hbm, tile

core_barrier = Function(
    signature="data, cores, engine=engine.gpsimd, name=None",
    limit=Limit(lambda cores: nisa.core_barrier(hbm(8, 8, shared=True), cores), ((0, 1), (0, 2)),
        "'core_barrier' on tensor 'tensor': cores must be (0, 1), the two cores of a logical core "
        "of architecture trn2.", cores=2),
    example_test="test_isa_gathers::test_cores_exchange_tiles_and_wait_for_each_other",
    cost_test="test_isa_costs_dma::test_a_barrier_costs_the_same_whatever_tensor_it_names",
)  # fmt: skip
get_nc_sub_version = Function(
    signature="",
    limit=Limit(lambda k: nisa.get_nc_sub_version(*k), ((), (1,)),
        "get_nc_sub_version() takes 0 positional arguments but 1 was given", error=TypeError),
    example_test="test_isa_random::test_the_sub_version_is_a_revision",
    cost_test="test_isa_costs::test_a_query_emits_no_instruction",
)  # fmt: skip
get_nc_version = Function(
    signature="",
    old_signature="",
    limit=Limit(lambda k: nisa.get_nc_version(*k), ((), (1,)),
        "get_nc_version() takes 0 positional arguments but 1 was given", error=TypeError),
    example_test="test_isa_symbols::test_the_version_is_that_of_the_target",
    cost_test="test_isa_costs::test_a_query_emits_no_instruction",
)  # fmt: skip
register_alloc = Function(
    signature="x=None",
    limit=Limit(lambda k: nisa.register_alloc(tile(1, k, dtype=nl.int32)), (1, 2),
        "operand 'x' of 'register_alloc' is tensor[1, 2], but must have one element."),
    example_test="test_isa_gathers::test_registers_hold_numbers_and_elements",
    cost_test="test_isa_costs::test_register_instructions_keep_no_engine_busy",
)  # fmt: skip
register_load = Function(
    signature="dst, src",
    limit=Limit(lambda k: nisa.register_load(nisa.register_alloc(1), tile(1, k, dtype=nl.int32)),
        (1, 2), "operand 'src' of 'register_load' is tensor[1, 2], but must have one element."),
    example_test="test_isa_gathers::test_a_register_is_loaded_again_and_stored_in_hbm",
    cost_test="test_isa_costs::test_register_instructions_keep_no_engine_busy",
)  # fmt: skip
register_move = Function(
    signature="dst, src",
    limit=Limit(lambda k: nisa.register_move(nisa.register_alloc(1), k), (2**31 - 1, 2**32),
        "src 4294967296 of 'register_move' does not fit into the 32 bits of a register."),
    example_test="test_isa_gathers::test_registers_hold_numbers_and_elements",
    cost_test="test_isa_costs::test_register_instructions_keep_no_engine_busy",
)  # fmt: skip
register_store = Function(
    signature="dst, src",
    limit=Limit(lambda k: nisa.register_store(tile(1, k, dtype=nl.int32), nisa.register_alloc(1)),
        (1, 2), "operand 'dst' of 'register_store' is tensor[1, 2], but must have one element."),
    example_test="test_isa_gathers::test_a_register_is_loaded_again_and_stored_in_hbm",
    cost_test="test_isa_costs::test_register_instructions_keep_no_engine_busy",
)  # fmt: skip
