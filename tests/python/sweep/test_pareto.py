"""The Pareto front against the definition, point by point."""

import random

import pytest
from neuron_sim.sweep import pareto_front


def rows_of(*pairs):
    return [{"time": time, "size": size} for time, size in pairs]


def test_rows_that_another_one_beats_are_not_on_the_front():
    rows = rows_of((1, 9), (2, 5), (3, 5), (4, 1), (5, 2))
    assert pareto_front(rows, ["time", "size"]) == [0, 1, 3]
    assert pareto_front(rows, ["time"]) == [0]
    assert pareto_front(rows, ["time", "-size"]) == [0]
    assert pareto_front(rows, ["-time", "-size"]) == [0, 2, 4]


def test_equal_rows_are_all_on_the_front():
    assert pareto_front(rows_of((1, 1), (1, 1), (1, 2)), ["time", "size"]) == [0, 1]


def test_refused_rows_and_nan_are_never_on_it():
    rows = [{"error": "too large"}, *rows_of((1, 1)), {"time": float("nan"), "size": 0}]
    assert pareto_front(rows, ["time", "size"]) == [1]


def test_a_figure_that_no_row_has_is_refused():
    with pytest.raises(ValueError, match="no point has a number 'speed'"):
        pareto_front(rows_of((1, 1)), ["speed"])
    with pytest.raises(ValueError, match="no point has a number 'time'"):
        pareto_front([], ["time"])


@pytest.mark.parametrize("seed", range(10))
def test_of_random_rows_exactly_the_unbeaten_ones_are_on_it(seed):
    choice = random.Random(seed)
    rows = [{name: choice.randrange(6) for name in "abc"} for _ in range(60)]
    names = ["a", "-b", "c"]
    cost = [(row["a"], -row["b"], row["c"]) for row in rows]
    unbeaten = [
        i for i, mine in enumerate(cost)
        if not any(all(map(int.__le__, other, mine)) and other != mine for other in cost)
    ]  # fmt: skip
    assert pareto_front(rows, names) == unbeaten
