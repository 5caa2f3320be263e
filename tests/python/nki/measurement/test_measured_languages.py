"""nki.benchmark, nki.baremetal and nki.profile of both languages."""

import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as new_nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest


def old_double(x):
    out = old_nl.ndarray(x.shape, dtype=x.dtype, buffer=old_nl.shared_hbm)
    old_nl.store(out, value=old_nl.load(x) * 2)
    return out


def new_double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out


LANGUAGES = pytest.mark.parametrize(
    ("nki", "kernel"), [(old_nki, old_double), (new_nki, new_double)], ids=["old", "new"]
)
X = np.arange(35, dtype=np.float32).reshape(5, 7)


@LANGUAGES
def test_a_benchmark_prints_a_table_and_keeps_the_latency(nki, kernel, capsys):
    timed = nki.benchmark(warmup=2, iters=3)(kernel)
    with pytest.raises(AttributeError, match=f"kernel '{kernel.__name__}' was not called yet"):
        _ = timed.benchmark_result
    result = timed(X)
    assert "NCL(50)" in capsys.readouterr().out
    assert result.shape == X.shape and np.isnan(result).all()
    latency = timed.benchmark_result.nc_latency.get_latency_percentile(50)
    traced = nki.jit(kernel).traced(X)
    assert latency == pytest.approx(traced.time()["latency_us"], rel=1e-3)


@LANGUAGES
def test_a_benchmark_of_a_kernel_and_of_its_function_are_the_same(nki, kernel, capsys):
    latencies = []
    for each in (kernel, nki.jit(kernel)):
        timed = nki.benchmark(each)
        timed(X)
        latencies.append(timed.benchmark_result.nc_latency.get_latency_percentile(99))
    assert latencies[0] == latencies[1] > 0


@LANGUAGES
def test_bare_metal_computes_and_saves_its_program(nki, kernel, tmp_path):
    file = tmp_path / "double.neff"
    assert np.array_equal(nki.baremetal(save_neff_name=str(file))(kernel)(X), 2 * X)
    assert file.stat().st_size > 0
    assert np.array_equal(nki.baremetal(kernel)(X), 2 * X)


@LANGUAGES
def test_a_profile_needs_a_folder_and_writes_there(nki, kernel, tmp_path):
    with pytest.raises(ValueError, match="'profile': working_directory must be given"):
        nki.profile(kernel)
    profiled = nki.profile(working_directory=str(tmp_path), save_neff_name="k.neff")(kernel)
    profiled(X)
    assert (tmp_path / "k.neff").stat().st_size > 0


def test_a_benchmark_of_the_new_language_keeps_its_results_over_a_grid(capsys):
    timed = new_nki.benchmark(new_double)
    timed[1](X)
    assert timed.benchmark_result.nc_latency.get_latency_percentile(50) > 0


@LANGUAGES
def test_a_measured_kernel_is_a_part_of_the_kernel_that_calls_it(nki, kernel):
    part = nki.benchmark(kernel)

    @nki.jit
    def outer(x):
        return part(x)

    assert np.array_equal(outer(X), 2 * X)


def test_nki_dtype_has_the_dtypes_and_their_type():
    assert new_nki.dtype.bfloat16 is nl.bfloat16
    assert isinstance(nl.bfloat16, new_nki.dtype.DType)
    assert isinstance(nl.bfloat16, old_nki.dtype) and not isinstance(np.float32, old_nki.dtype)


def test_a_kernel_that_the_passes_do_not_take_says_so_when_it_is_timed():
    @old_nki.jit
    def many(x):
        out = old_nl.ndarray((1_000_001, 1, 1), dtype=x.dtype, buffer=old_nl.shared_hbm)
        for i in old_nl.affine_range(1_000_001):
            old_nl.store(out[i], value=old_nl.load(x[i]))
        return out

    traced = many.traced(np.zeros((1_000_001, 1, 1), np.float32))
    with pytest.warns(UserWarning, match="kernel 'many' is timed as it is written, without the"):
        assert traced.time()["latency_us"] > 0


def test_a_users_architecture_has_the_compiler_of_its_generation(tmp_path, monkeypatch, recwarn):
    file = tmp_path / "mine.toml"
    file.write_text('base = "trn1"\n', encoding="utf-8")
    latencies = []
    for architecture in ("trn1", str(file)):
        monkeypatch.setenv("NEURON_SIM_ARCH", architecture)
        latencies.append(old_nki.jit(old_double).traced(X).time()["latency_us"])
    assert latencies[0] == latencies[1]
    assert not recwarn.list


def test_a_generation_without_a_known_compiler_says_so(monkeypatch):
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn3")
    with pytest.warns(UserWarning, match="no compiler of its generation has been measured"):
        assert new_nki.jit(new_double).traced(X).time()["latency_us"] > 0
