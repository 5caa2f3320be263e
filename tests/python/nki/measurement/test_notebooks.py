"""Results of benchmarks, sweeps and advice display themselves in notebooks."""

from neuron_sim import _core
from neuron_sim.nki.measurement.benchmark import PERCENTILES, BenchmarkResult, LatencyPercentiles
from neuron_sim.sweep import SweepRows
from neuron_sim.timeline import advice_text, advise


def test_a_benchmark_is_a_table_of_percentiles():
    result = BenchmarkResult(LatencyPercentiles((1.5, 2.5)), LatencyPercentiles((51.5, 52.5)))
    page = result._repr_html_()
    assert page.count("<tr>") == 1 + len(PERCENTILES)
    for text in (">1.5<", ">2.5<", ">51.5<", ">52.5<", ">NeuronCore us<", ">host us<"):
        assert text in page


def test_a_sweep_is_a_table():
    page = SweepRows([{"n": 1, "error": "a < b"}])._repr_html_()
    assert page.count("<tr>") == 2 and "a &lt; b" in page


def test_advice_is_its_text_and_escaped():
    builder = _core.Builder("a<b>", "trn2")
    builder.memset(builder.sbuf("tile", [128, 64]), 1.0)
    advice = advise(builder.finish())
    page = advice._repr_html_()
    assert page.startswith("<pre>a&lt;b&gt; on trn2: body ") and "<b>" not in page
    assert page.count("\n") == advice_text(advice).count("\n")
