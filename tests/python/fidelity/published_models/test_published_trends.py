"""Pairs of published generations that differ in one size, and which way the times go."""

from neuron_sim.fidelity.published_models.inference import Comparison
from neuron_sim.fidelity.published_models.trends import as_objects, as_text, trends


def row(measured, simulated, batch=1, context=4096, input=128, **others):
    fields = {"model": "m", "instance": "i", "figure": "TPOT", **others}
    return Comparison(
        batch=batch, context=context, input=input, measured_ms=measured, simulated_ms=simulated,
        bound="DMA", **fields,
    )  # fmt: skip


def test_a_pair_differs_in_one_size_and_nothing_else():
    rows = [
        row(1, 1), row(2, 3, batch=8), row(4, 4, batch=8, context=8192),
        row(9, 9, model="another", batch=8), row(9, 9, instance="another", batch=8),
        row(9, 9, figure="TTFT", batch=8),
    ]  # fmt: skip
    found = trends(rows)
    assert [(pair.size, pair.smaller, pair.larger) for pair in found] == [
        ("batch", 1, 8),
        ("context", 4096, 8192),
    ]
    assert (found[0].measured, found[0].simulated) == (2, 3)
    assert found[0].others == "context 4096, input 128"


def test_the_larger_size_is_compared_with_the_smaller_whatever_their_order():
    one, other = row(2, 3, input=256), row(1, 2)
    assert trends([one, other]) == trends([other, one])
    assert trends([one, other])[0].simulated == 1.5


def test_a_pair_goes_as_measured_or_contrary_or_does_not_change():
    for simulated, verdict in ((1.01, "as measured"), (1.0, "unchanged"), (0.99, "contrary")):
        (pair,) = trends([row(1, 1), row(2, simulated, batch=2)])
        assert pair.verdict == verdict
        (pair,) = trends([row(2, 1), row(1, 1 / simulated, batch=2)])
        assert pair.verdict == verdict
        assert as_objects([pair])[0]["verdict"] == verdict
        assert f"1 {verdict}" in as_text([pair])
