"""Functional collectives, which leave their inputs as they are: of two processes, each of which
runs all cases of functional_cases.py once."""

import functional_cases
import pytest
import torch
from device_type import DEVICE_TYPE
from distributed_cases import WORLD, values
from processes import results_of


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What every case returned or raised, by rank."""
    return results_of(functional_cases.__file__, tmp_path_factory.mktemp("group"))


def assert_all_equal(found, expected):
    assert isinstance(found, list), found
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def both(shape=(3, 5), dtype=torch.float32):
    return values(0, shape, dtype), values(1, shape, dtype)


@pytest.mark.parametrize("reduction", functional_cases.REDUCTIONS)
def test_a_reduction_leaves_its_input_as_it_was(results, reduction):
    first, second = both(dtype=functional_cases.REDUCTIONS[reduction])
    expected = {
        "sum": first + second,
        "avg": (first + second) / 2,
        "product": first * second,
        "min": torch.minimum(first, second),
    }[reduction]
    for rank, mine in enumerate((first, second)):
        assert_all_equal(results[rank][f"allreduce {reduction}"], [expected, mine])


def test_a_group_may_be_given_by_its_name(results):
    for rank in range(WORLD):
        assert_all_equal([results[rank]["allreduce_of_group_name"]], [sum(both())])


def test_a_reduction_may_be_an_object(results):
    for rank in range(WORLD):
        assert_all_equal([results[rank]["allreduce_of_object"]], [torch.maximum(*both())])


def test_strided_and_complex_inputs_are_reduced_too(results):
    wholes = both((6, 4))
    numbers = [torch.complex(values(rank), -values(rank)) for rank in range(WORLD)]
    square = both((4, 4))
    for rank in range(WORLD):
        expected = [sum(whole.t()[1:3] for whole in wholes), wholes[rank]]
        assert_all_equal(results[rank]["allreduce_strided"], expected)
        assert_all_equal(results[rank]["allreduce_complex"], [sum(numbers), numbers[rank]])
        # The ranks need not have the same strides.
        found = results[rank]["allreduce_strided_on_one_rank"]
        assert_all_equal([found], [square[0] + square[1].t()])


def test_tensors_of_one_call_are_reduced_each(results):
    lists = [[values(r, (2, 3)), values(r, (4, 4)).t(), values(r, (0,))] for r in range(WORLD)]
    sums = [one + other for one, other in zip(*lists, strict=True)]
    for rank in range(WORLD):
        assert_all_equal(results[rank]["allreduce_coalesced"], [*sums, *lists[rank]])


def test_a_broadcast_leaves_the_inputs_of_all_ranks_as_they_were(results):
    for rank, mine in enumerate(both()):
        assert_all_equal(results[rank]["broadcast"], [values(1), mine])


def test_a_graph_reads_what_it_reduced_again(results):
    tensors, weights = both(), both((5, 2))
    products = [tensor @ weight for tensor, weight in zip(tensors, weights, strict=True)]
    for rank in range(WORLD):
        expected = [
            sum(tensors) - tensors[rank], sum(products) + products[rank], tensors[rank],
            weights[rank],
        ]  # fmt: skip
        assert_all_equal(results[rank]["compiled"], expected)


def test_only_the_root_of_a_broadcast_copies(results):
    assert [results[rank]["launches"].tolist() for rank in range(WORLD)] == [[0, 0], [0, 1]]


def test_what_cannot_be_reduced_is_refused(results):
    for rank in range(WORLD):
        assert "Unrecognized reduce_op: median" in results[rank]["error_reduction"]
        assert f"a tensor is on cpu, expected {DEVICE_TYPE}" in results[rank]["error_device"]
