"""Which operands of the older instructions need their names, as AWS documents neuronxcc.nki.isa."""

import inspect

import neuron_sim.neuronxcc.nki.isa as nisa
import pytest

# What stands before the `*` of the documented signatures (Neuron 2.21).
WITHOUT_NAMES = {
    "activation": "op data", "activation_reduce": "op data", "affine_select": "pred on_true_tile "
    "on_false_value", "bn_aggr": "data", "bn_stats": "data", "dropout": "data prob",
    "iota": "expr dtype", "local_gather": "src_buffer index num_elem_per_idx num_valid_indices",
    "max8": "", "memset": "shape value dtype", "nc_find_index8": "", "nc_match_replace8": "",
    "nc_matmul": "stationary moving", "nc_stream_shuffle": "src dst shuffle_mask",
    "nc_transpose": "data", "range_select": "", "reciprocal": "data", "scalar_tensor_tensor": "",
    "select_reduce": "", "sequence_bounds": "", "tensor_copy": "src", "tensor_copy_predicated": "",
    "tensor_partition_reduce": "op data", "tensor_reduce": "op data axis",
    "tensor_scalar": "data op0 operand0 reverse0 op1 operand1 reverse1", "tensor_scalar_reduce": "",
    "tensor_tensor": "data1 data2 op",
    "tensor_tensor_scan": "data0 data1 initial op0 op1 reverse0 reverse1",
}  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT_NAMES)
def test_only_the_first_operands_may_be_given_without_their_names(name):
    parameters = inspect.signature(getattr(nisa, name)).parameters.values()
    first = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert first == WITHOUT_NAMES[name].split()
