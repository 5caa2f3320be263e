"""Flags of the vendor's compiler: additional_compile_opt of decorators, NEURON_CC_FLAGS."""

import importlib

import numpy as np
import pytest
from neuron_sim import _core


def in_language(language):
    """benchmark and jit of a language, and a kernel that loads, doubles and stores 16 tiles."""
    nki = importlib.import_module("neuron_sim." + ("nki" if language == "new" else "neuronxcc.nki"))
    nl = importlib.import_module(nki.__name__ + ".language")
    nisa = importlib.import_module(nki.__name__ + ".isa")

    def old(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(16):
            nl.store(out[i], nl.load(x[i]) * 2.0)
        return out

    def new(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in range(16):
            tile = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[i])
            nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
            nisa.dma_copy(dst=out[i], src=tile)
        return out

    return nki, new if language == "new" else old


def latency_of(kernel):
    kernel(np.zeros((16, 128, 64), np.float32))
    return kernel.benchmark_result.nc_latency.get_latency_percentile(50)


@pytest.mark.parametrize("language", ["old", "new"])
def test_without_descriptor_generation_the_stack_is_that_of_the_flag(language, monkeypatch):
    monkeypatch.delenv("NEURON_CC_FLAGS", raising=False)
    nki, function = in_language(language)
    flags = {"additional_compile_opt": "--logical-nc-config=1 --disable-dge"}
    traced = {
        "none": nki.jit(function).traced(np.zeros((16, 128, 64), np.float32)),
        "flag": nki.jit(**flags)(function).traced(np.zeros((16, 128, 64), np.float32)),
    }
    direct = " direct" if language == "new" else ""
    stacks = _core.published_stacks()
    for key, name in (("none", "neuronx-cc trn2"), ("flag", "neuronx-cc trn2 --disable-dge")):
        source, settings = traced[key].source, stacks[name + direct]["settings"]
        compiled = _core.compile_program(source, settings)
        assert traced[key].program.listing() == compiled.listing()
        assert traced[key].time() == compiled.time()
    assert traced["none"].time() != traced["flag"].time()


@pytest.mark.parametrize("language", ["old", "new"])
def test_every_decorator_and_the_environment_take_flags_of_the_compiler(language, monkeypatch):
    monkeypatch.delenv("NEURON_CC_FLAGS", raising=False)
    nki, function = in_language(language)
    flags = {"additional_compile_opt": "--disable-dge"}
    plain = latency_of(nki.benchmark(function))
    static = latency_of(nki.benchmark(**flags)(function))
    assert static != plain
    assert latency_of(nki.benchmark(nki.jit(**flags)(function))) == static
    monkeypatch.setenv("NEURON_CC_FLAGS", " --model-type=transformer --disable-dge ")
    assert latency_of(nki.benchmark(function)) == static
    assert latency_of(nki.benchmark(additional_compile_opt="")(function)) == plain


@pytest.mark.parametrize("language", ["old", "new"])
def test_flags_change_nothing_where_all_descriptors_are_static(language, monkeypatch):
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn1")
    nki, function = in_language(language)
    flags = {"additional_compile_opt": "--disable-dge"}
    assert latency_of(nki.benchmark(**flags)(function)) == latency_of(nki.benchmark(function))


@pytest.mark.parametrize("flags", ["--logical-nc-config=2", "--lnc 2"])
def test_a_kernel_of_the_old_language_runs_on_both_cores_of_its_logical_core(flags):
    x = np.zeros((16, 128, 2048), np.float32)
    times, cores = {}, {}
    for language in ("old", "new"):
        nki, function = in_language(language)
        for name, text in (("one", "--lnc=1"), ("two", flags)):
            traced = nki.jit(additional_compile_opt=text)(function).traced(x)
            times[language, name] = traced.time()["body_us"]
            cores[language, name] = traced.program.listing().count("core 1:")
    assert cores == {("old", "one"): 0, ("old", "two"): 1, ("new", "one"): 0, ("new", "two"): 0}
    assert 0.4 < times["old", "two"] / times["old", "one"] < 0.8
    assert times["new", "two"] == times["new", "one"]


def test_flags_that_are_no_flags_are_refused():
    nki, function = in_language("old")
    x = np.zeros((16, 128, 64), np.float32)
    with pytest.raises(TypeError, match=r"^additional_compile_opt is \['--disable-dge'\] and must"):
        nki.jit(additional_compile_opt=["--disable-dge"])(function).traced(x)
    with pytest.raises(ValueError, match="'two' cores of a logical core"):
        nki.jit(additional_compile_opt="--lnc=two")(function).traced(x).time()
    with pytest.raises(ValueError, match=r"^additional_compile_opt is '--a=\"': No closing quot"):
        nki.benchmark(additional_compile_opt='--a="')(function)(x)
