"""Attention of DTensors on two devices: each computes its part, and the whole is the CPU's."""

import attention_sharding_cases as cases
import pytest
import torch
from processes import results_of


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What every case returned or raised, by rank."""
    return results_of(cases.__file__, tmp_path_factory.mktemp("group"))


@pytest.mark.parametrize("case", cases.CASES)
def test_divided_attention_and_its_gradients_are_those_of_the_whole(results, case):
    mask = case.rpartition(" ")[0]
    key_heads = 2 if mask == "grouped" else 4
    mask = "none" if mask == "grouped" else mask
    expected = cases.attention(mask, cases.inputs(mask, key_heads))
    for found in (rank[case] for rank in results):
        assert isinstance(found, list), found
        *tensors, kept = found
        assert kept, "the output was gathered"
        for tensor, whole in zip(tensors, expected, strict=True):
            torch.testing.assert_close(tensor, whole, rtol=1e-4, atol=1e-5)
