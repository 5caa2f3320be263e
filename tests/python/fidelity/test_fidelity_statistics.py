"""Statistics of the fidelity suite against numbers computed by hand."""

import math

import pytest
from fidelity_samples import entry
from neuron_sim.fidelity.measurement import parse_measurement
from neuron_sim.fidelity.statistics import (
    Pair,
    by_family,
    error_percent,
    noise,
    rank_correlation,
    summarize,
)


def pairs(*values, family="a", unit="us"):
    return [Pair(family, measured, simulated, unit) for measured, simulated in values]


def test_an_error_is_relative_to_the_measured_value_and_keeps_its_sign():
    assert error_percent(50, 60) == pytest.approx(20)
    assert error_percent(200, 100) == pytest.approx(-50)
    assert error_percent(7, 7) == 0


def test_a_summary_has_the_mean_median_worst_and_bias_of_its_errors():
    summary = summarize(pairs((100, 110), (100, 70), (100, 104), (100, 100)))
    assert summary.cases == 4
    assert summary.mape == pytest.approx((10 + 30 + 4 + 0) / 4)
    assert summary.median == pytest.approx((4 + 10) / 2)
    assert summary.worst == pytest.approx(-30)
    assert summary.bias == pytest.approx((10 - 30 + 4 + 0) / 4)
    assert summary.rank_correlation is None
    assert summarize([]) is None


def test_the_rank_correlation_needs_five_cases():
    # Ranks 1 2 3 4 5 against 1 2 3 5 4: 1 - 6 * 2 / (5 * 24) = 0.9.
    five = pairs((1, 1), (2, 3), (30, 4), (4e3, 900), (5e4, 70))
    assert rank_correlation(five) == pytest.approx(0.9)
    assert rank_correlation(five[:4]) is None
    assert rank_correlation([]) is None


def test_equal_values_share_a_rank_and_a_constant_side_has_no_order():
    # Ranks 1.5 1.5 3 4 5 against 1 2 3 4 5: Pearson 9.5 / sqrt(9.5 * 10).
    tied = pairs((1, 1), (1, 2), (2, 3), (3, 4), (4, 5))
    assert rank_correlation(tied) == pytest.approx(9.5 / math.sqrt(95))
    assert rank_correlation(pairs(*((i, 7) for i in range(1, 7)))) is None
    assert rank_correlation(pairs(*((7, i) for i in range(1, 7)))) is None


def test_ranks_are_taken_within_the_most_frequent_unit():
    times = pairs(*((i, i) for i in range(1, 6)))
    rates = pairs((100, 1), (200, 0.5), (1, 300), unit="GB/s")
    assert rank_correlation(times + rates) == pytest.approx(1)
    assert rank_correlation(times[:4] + rates) is None


def test_families_of_three_are_pooled_and_those_of_four_are_not():
    four = pairs(*[(10, 11)] * 4, family="four")
    three = pairs(*[(10, 12)] * 3, family="three")
    one = pairs((10, 4), family="one")
    families = by_family(four + three + one)
    assert list(families) == ["four", "other"]
    assert families["four"].mape == pytest.approx(10)
    assert families["other"].cases == 4
    assert families["other"].mape == pytest.approx((3 * 20 + 60) / 4)
    assert list(by_family(four)) == ["four"]
    assert by_family([]) == {}


def test_a_family_called_other_is_part_of_the_pool():
    families = by_family(pairs(*[(10, 11)] * 5, family="other") + pairs((10, 5), family="one"))
    assert list(families) == ["other"]
    assert families["other"].cases == 6


def runs(*entries):
    return noise([parse_measurement(each) for each in entries])


def test_noise_is_the_spread_of_repeated_runs_of_one_kernel():
    repeat = {"split": "repeat_for_noise", "shapes": "(128, 4) viewed (1, 128, 4)"}
    (group,) = runs(
        entry("first", 4, 20), entry("second", 4, 21, **repeat), entry("third", 4, 18, **repeat)
    )
    assert group.ids == ("first", "second", "third")
    assert group.values == (20, 21, 18)
    assert group.spread == pytest.approx(100 * 3 / 18)


@pytest.mark.parametrize("changes", [
    {"metric": "total_time"}, {"kernel": "copy of 5 columns"}, {"dtype": "bfloat16"},
    {"shapes": "(128, 5)"}, {"arch": "trn1"}, {"unit": "ns"},
])  # fmt: skip
def test_another_kernel_core_or_metric_is_no_noise(changes):
    repeat = {"split": "repeat_for_noise", **changes}
    assert runs(entry("first", 4), entry("second", 4, **repeat)) == []


def test_a_second_measurement_that_is_no_repeat_is_no_noise():
    assert runs(entry("first", 4), entry("second", 4)) == []
