"""neuron_sim.timeline.interval: how far the chip's own time may be."""

import re

import numpy as np
import pytest
from measured_kernels import doubled
from neuron_sim.fidelity.coverage import left_out_coverage
from neuron_sim.nki import measurement
from neuron_sim.nki.measurement.recorded import profile_summary
from neuron_sim.timeline.interval import (
    COVERAGE,
    KINDS,
    LEAST_KERNELS,
    Interval,
    MeasuredError,
    interval,
    kind_of,
    stored_errors,
)


def errors(kind, ratios, family="kernels"):
    return [MeasuredError(family, kind, ratio) for ratio in ratios]


def test_an_interval_is_between_the_quantiles_of_its_kind():
    alike = np.linspace(0.5, 1.5, 101)
    found = interval("latency", errors("latency", alike) + errors("products", [9.0] * 101))
    assert (found.low, found.high) == pytest.approx((0.6, 1.4))
    assert (found.kind, found.kernels) == ("latency", 101)


@pytest.mark.parametrize("count, behind", [(LEAST_KERNELS - 1, 129), (LEAST_KERNELS, 30)])
def test_a_kind_of_few_kernels_takes_the_errors_of_all(count, behind):
    few = errors("latency", [2.0] * count)
    found = interval("latency", few + errors("products", np.linspace(0.5, 1.5, 100)))
    assert found.kernels == behind
    assert (found.low == 2.0) == (behind == count)


def test_without_any_error_there_is_no_interval():
    with pytest.raises(ValueError, match="no error of a measured kernel .* of 'latency'"):
        interval("latency", [])


def test_the_kind_is_that_of_the_longest_program():
    timings = [{"body_us": 1.0, "bottleneck": "Tensor"}, {"body_us": 2.0, "bottleneck": "DMA"}]
    assert kind_of(timings) == "transfers"
    assert kind_of(timings[:1]) == "products"


def test_every_kind_has_an_interval_that_contains_the_simulated_time():
    for kind in KINDS.values():
        found = interval(kind)
        assert 0.5 < found.low < 1 < found.high < 2


def test_intervals_hold_for_seven_to_nine_of_ten_kernels_of_families_left_out():
    counts = left_out_coverage(stored_errors())
    inside, kernels = (sum(each) for each in zip(*counts.values(), strict=True))
    assert len(counts) >= 4 and kernels >= 150
    assert COVERAGE - 0.1 <= inside / kernels <= COVERAGE + 0.1


def test_a_benchmark_prints_the_interval_of_its_latency_after_the_table(capsys):
    kernel = doubled()
    measurement.measure(kernel)
    found = interval(kind_of([kernel.time()]))
    latency = kernel.time()["latency_us"]
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"NCL(50) {latency:.4g} us, bound by {found.kind}; ")
    low, high = re.search(r"; (\S+) to (\S+) us with the errors", last).groups()
    assert float(low) == pytest.approx(found.low * latency, rel=1e-3)  # prints 4 digits
    assert float(high) == pytest.approx(found.high * latency, rel=1e-3)


def test_a_sentence_names_time_kind_and_kernels():
    assert Interval(0.5, 2.0, "latency", 40).text("total_time", 10.0) == (
        "total_time 10 us, bound by latency; "
        "5 to 20 us with the errors of 80% of 40 measured kernels."
    )


def test_a_summary_has_the_ends_of_the_interval_of_its_total_time():
    kernel = doubled()
    summary = profile_summary(kernel)
    found = interval(kind_of([kernel.time()]))
    assert summary["total_time_low"] == pytest.approx(found.low * summary["total_time"])
    assert summary["total_time_high"] == pytest.approx(found.high * summary["total_time"])
    assert summary["total_time_interval_percent"] == COVERAGE
