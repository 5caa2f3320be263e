"""Dtypes as Python objects: copies of them are the dtypes themselves."""

import copy
import pickle

import neuron_sim.nki.language as nl
import pytest
from neuron_sim.nki.tracing.dtypes import ALL


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_a_copy_of_a_dtype_is_the_dtype(dtype):
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy(dtype) is dtype
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype


def test_a_copied_configuration_has_equal_dtypes():
    configuration = {"dtype": nl.bfloat16, "others": [nl.float8_e4m3, nl.float32]}
    assert copy.deepcopy(configuration) == configuration
