"""Every function of nki.isa has a test of an example, of a limit, and of its cost.

The tests are named here by file and function; each must exist and use the function that it is said
to test. A function that is added without them fails.
"""

import ast
import re
from pathlib import Path

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.nki.isa as nisa
import pytest
from isa_costs import COSTS
from isa_costs_old import BODIES
from isa_limits import LIMITS
from test_isa_examples import EXAMPLES
from test_isa_signatures import NEW, OLD, signatures

FOLDERS = [Path(__file__).parent, Path(__file__).parents[1] / "old_language"]
#: Of the vendor: examples, limits and costs of others are tests of the device alone.
DYNAMIC_COPIES = ("tensor_copy_dynamic_src", "tensor_copy_dynamic_dst")
#: Exists at the vendor; nki.isa says that it is not there yet, as test_isa_symbols proves.
NOT_THERE = {"builtin_custom_op"}
FUNCTIONS = {*signatures(NEW), *signatures(OLD), *DYNAMIC_COPIES, *NOT_THERE}

#: Examples besides the tables of test_isa_examples: file -> test -> functions.
OTHER_EXAMPLES = {
    "test_isa_examples": {
        "test_dropout_drops_about_its_probability": "dropout",
        "test_local_gather_takes_four_elements_per_index_for_each_core": "local_gather",
        "test_dma_transpose_of_16_rows": "dma_transpose",
        "test_dma_copy_gathers_rows_and_skips_those_beyond": "dma_copy",
        "test_sequence_bounds_of_sorted_segments": "sequence_bounds",
    },
    "test_isa_gathers": {
        "test_dma_compute_adds_tensors": "dma_compute",
        "test_nc_n_gather_takes_elements_of_each_partition": "nc_n_gather",
        "test_topk_of_a_snake_over_16_partitions": "topk",
        "test_nonzero_with_count_lists_indices": "nonzero_with_count",
        "test_random_numbers_depend_on_the_seed": "rng set_rng_seed",
        "test_quantize_mx_and_its_product_on_trn3": "quantize_mx nc_matmul_mx",
        "test_cores_exchange_tiles_and_wait_for_each_other": "core_barrier sendrecv",
        "test_registers_hold_numbers_and_elements": "register_alloc register_move",
        "test_a_register_is_loaded_again_and_stored_in_hbm": "register_load register_store",
    },
    "test_isa_random": {
        "test_the_state_of_a_generator_is_loaded_and_stored": "rand_get_state rand_set_state",
        "test_rand2_is_uniform_between_its_bounds_on_trn3": "rand2",
        "test_the_sub_version_is_a_revision": "get_nc_sub_version",
    },
    "test_isa_reductions": {"test_activation_reduce_writes_function_and_sum": "activation_reduce"},
    "test_isa_selections": {
        "test_tensor_scalar_reduce_reduces_what_it_writes": "tensor_scalar_reduce",
        "test_activate2_configures_its_stage_on_trn3": "activate2",
        "test_exponential_sums_on_trn3": "exponential",
    },
    "test_isa_symbols": {"test_the_version_is_that_of_the_target": "get_nc_version"},
    "test_old_dynamic": {
        "test_an_offset_and_a_range_after_it_are_a_slice": "tensor_copy_dynamic_src",
        "test_a_dynamic_destination_is_written_where_its_index_points": "tensor_copy_dynamic_dst",
    },
}
IN_MODULE_TABLES = {
    "scalar_tensor_tensor": ("test_isa_old", "test_an_instruction_returns_its_result"),
}
OTHER_LIMITS = {
    "test_isa_limits": {
        "test_limits_of_what_two_cores_do_together": "core_barrier sendrecv",
    },
    "test_old_dynamic": {
        "test_an_offset_that_points_outside_is_refused_when_the_kernel_runs": (
            "tensor_copy_dynamic_src"
        ),
        "test_a_destination_that_points_outside_is_refused_too": "tensor_copy_dynamic_dst",
    },
}
OTHER_COSTS = {
    "test_isa_costs": {
        "test_a_dynamic_copy_costs_at_least_600_cycles": (
            "tensor_copy_dynamic_src tensor_copy_dynamic_dst"
        ),
        "test_a_product_streams_a_column_per_cycle_and_pass": "nc_matmul",
        "test_a_product_of_packed_values_costs_what_one_of_bf16_does": "nc_matmul_mx",
        "test_a_transpose_of_bf16_on_the_tensor_engine_is_a_product_of_its_columns": (
            "nc_transpose"
        ),
        "test_register_instructions_keep_no_engine_busy": (
            "register_alloc register_move register_load register_store"
        ),
        "test_a_query_emits_no_instruction": "get_nc_version get_nc_sub_version",
    },
    "test_isa_costs_dma": {
        "test_a_copy_moves_the_bytes_of_16_engines": "dma_copy",
        "test_a_sum_of_two_tensors_moves_them_at_half_of_the_rate": "dma_compute",
        "test_a_transpose_reaches_at_most_90_percent_of_a_copy": "dma_transpose",
        "test_an_exchange_of_cores_moves_its_bytes_as_a_copy_does": "sendrecv",
        "test_a_barrier_costs_the_same_whatever_tensor_it_names": "core_barrier",
    },
}
#: Costs in the older language besides the bodies of isa_costs_old.
OLD_COSTS = {"nc_matmul", "nc_transpose", "dma_copy", "dma_transpose", "get_nc_version"}


def first_words(names):
    """The functions that the entries of a table are of: "iota of columns" of iota."""
    return {word for name in names for word in name.split() if word in FUNCTIONS}


def named(tests):
    """function -> (file, test)."""
    return {
        function: (file, test)
        for file, functions in tests.items()
        for test, listed in functions.items()
        for function in listed.split()
    }


def sources(file):
    """name -> source of the functions of a test file; "" -> all of it."""
    text = next(p for folder in FOLDERS if (p := folder / f"{file}.py").is_file()).read_text()
    found = {
        node.name: ast.get_source_segment(text, node) or ""
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }
    return {**found, "": text}


TABLES = {
    "example": (first_words(EXAMPLES), OTHER_EXAMPLES),
    "limit": (set(LIMITS), OTHER_LIMITS),
    "cost": (first_words(COSTS), OTHER_COSTS),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_function_has_one(kind):
    table, others = TABLES[kind]
    covered = table | set(named(others))
    if kind == "example":
        covered |= set(IN_MODULE_TABLES)
    assert FUNCTIONS - covered == NOT_THERE
    assert len(FUNCTIONS) == 55


@pytest.mark.parametrize("kind", TABLES)
def test_the_named_tests_exist_and_use_their_functions(kind):
    for function, (file, test) in named(TABLES[kind][1]).items():
        found = sources(file)
        assert test in found, f"{file} has no {test}"
        # In the test, or in what its file gives to it.
        assert re.search(rf"\b{function}\b", found[test] + found[""]), f"{test}: no {function}"


def test_functions_of_the_older_language_have_costs_there():
    covered = first_words(BODIES) | OLD_COSTS
    covered |= {*DYNAMIC_COPIES}
    documented = set(signatures(OLD))
    assert documented - covered == set()
    assert all(hasattr(old_nisa, name) for name in covered)


def test_what_is_not_there_is_named_as_missing():
    for name in NOT_THERE:
        with pytest.raises(AttributeError, match=f"'nki.isa.{name}' exists at the vendor but"):
            getattr(nisa, name)


def test_entries_of_other_tables_are_in_them():
    for function, (file, test) in IN_MODULE_TABLES.items():
        found = sources(file)
        assert test in found and f'"{function}": (' in found[""]
