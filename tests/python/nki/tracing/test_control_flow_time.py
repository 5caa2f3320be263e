"""New language: the time of kernels whose loops depend on data."""

import neuron_sim.nki as nki
import neuron_sim.nki.collectives as ncc
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from neuron_sim.nki.measurement import timing_only
from register_kernels import countdown, int32, normal


def test_time_is_that_of_the_last_run():
    kernel = countdown("while")
    x = normal(8, 64)
    traced = kernel.traced(x, int32(3))
    with pytest.raises(ValueError, match="depends on data: a while loop runs as often as a regist"):
        traced.time()
    times = []
    for count in (0, 2, 40):
        traced.run([x, int32(count)])
        times.append(traced.time()["body_us"])
    assert times[0] < times[1] < times[2]
    per_iteration = (times[2] - times[1]) / 38
    assert (times[1] - times[0]) / 2 == pytest.approx(per_iteration, rel=0.2)


def test_registers_that_hold_constants_are_known_without_a_run():
    def kernel_of(stop):
        @nki.jit
        def kernel(x):
            tile = nl.load(x)
            for _ in nl.dynamic_range(nisa.register_alloc(2), nisa.register_alloc(stop), 3):
                nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(out, tile)
            return out

        return kernel

    x = normal(8, 8)
    few, many = (kernel_of(stop).traced(x).time() for stop in (8, 302))
    assert many["engine_instructions"]["Vector"] - few["engine_instructions"]["Vector"] == 98
    np.testing.assert_allclose(kernel_of(8)(x), x + 2, rtol=1e-6)


def test_timing_only_takes_an_assumption(monkeypatch):
    kernel = countdown("fori_loop")
    x = normal(8, 8)
    monkeypatch.setenv("NEURON_SIM_DYNAMIC_TRIPS", "10")
    with timing_only():
        traced = kernel.traced(x, int32(3))
        traced.run([x, int32(3)])
    ten = traced.time()
    monkeypatch.setenv("NEURON_SIM_DYNAMIC_TRIPS", "20")
    assert traced.time()["instructions"] > ten["instructions"]


def test_benchmark_runs_a_kernel_whose_loops_depend_on_data(capsys):
    kernel = nki.benchmark(countdown("while"))
    latencies = []
    for count in (1, 30):
        kernel(normal(8, 8), int32(count))
        latencies.append(kernel.benchmark_result.nc_latency.get_latency_percentile(50))
    assert latencies[0] < latencies[1]


def test_ranks_decide_for_themselves():
    kernel = countdown("while")
    x = normal(4, 4)
    counts = ncc.PerRank([int32(3), int32(5)])
    results = nki.simulate(kernel, ranks=2)(x, counts)
    for (out, _), count in zip(results, (3, 5), strict=True):
        np.testing.assert_allclose(out, x * count, rtol=1e-6)
