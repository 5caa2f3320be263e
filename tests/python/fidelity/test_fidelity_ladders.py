"""Pairs of kernels for the same work, in the measured order or not."""

import pytest
from fidelity_samples import entry
from neuron_sim.fidelity.evaluate import Evaluated
from neuron_sim.fidelity.ladders import ladder
from neuron_sim.fidelity.measurement import parse_measurement


def outcome(identifier, measured, simulated, **changes):
    changes = {"source": "author/kernels file.py", "shapes": "(128, 512)"} | changes
    measurement = parse_measurement(entry(identifier, 512, measured, **changes))
    return Evaluated(measurement, {"published": simulated, "off": None})


def test_pairs_in_the_measured_order_are_counted_and_others_are_named():
    steps = [outcome("slow", 30.0, 28.0), outcome("fast", 10.0, 12.0), outcome("mean", 20.0, 29.0)]
    found = ladder(steps)
    assert found.pairs == 3
    assert found.reversed == (("mean", "slow"),)


@pytest.mark.parametrize("measured, pairs", [(10.5, 0), (10.51, 1)])
def test_numbers_that_are_not_apart_are_no_pair(measured, pairs):
    found = ladder([outcome("one", 10.0, 10.0), outcome("other", measured, 9.0)])
    assert found.pairs == pairs == len(found.reversed)


@pytest.mark.parametrize("changes", [
    {"shapes": "(128, 1024)"}, {"source": "another/author"}, {"dtype": "bfloat16"},
    {"metric": "profile total"}, {"arch": "trn1"},
])  # fmt: skip
def test_kernels_for_other_work_are_no_pair(changes):
    assert ladder([outcome("one", 10.0, 10.0), outcome("other", 20.0, 9.0, **changes)]).pairs == 0


def test_steps_of_a_search_are_for_the_same_work_whatever_their_texts():
    steps = [
        outcome("search-a-0", 30.0, 20.0, kernel="a step 0", shapes="first"),
        outcome("search-a-2", 10.0, 25.0, kernel="a step 2", shapes="second"),
        outcome("search-b-2", 40.0, 25.0, kernel="b step 2", shapes="third"),
    ]
    assert ladder(steps).reversed == (("search-a-2", "search-a-0"),)


def test_kernels_without_a_simulated_number_are_no_pair():
    assert ladder([outcome("one", 10.0, None), outcome("other", 20.0, 9.0)]).pairs == 0
    assert ladder([outcome("one", 10.0, 5.0), outcome("other", 20.0, 9.0)], "off").pairs == 0
