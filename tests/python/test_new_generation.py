"""A chip of a new generation is one file: every front end takes it."""

import re
from pathlib import Path

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from faults import run_apart
from neuron_sim.nki.measurement.recorded import profile_summary

ARCHITECTURES = Path(__file__).parents[2] / "device" / "arch"
A = np.random.default_rng(0).standard_normal((128, 64), np.float32)


@pytest.fixture
def trn9(tmp_path, monkeypatch):
    """The file of a fifth generation: Trainium3's with another name and a faster Scalar."""
    text = (ARCHITECTURES / "trn3.toml").read_text()
    for pattern, line in (
        ("name = .*", 'name = "trn9"'),
        ("neuron_core = .*", 'neuron_core = "NeuronCore-v5"'),
        ("generation = .*", "generation = 5"),
        (r"scalar = \{ value = 1.2, unit = \"GHz\"", 'scalar = { value = 2.4, unit = "GHz"'),
    ):
        text, count = re.subn(f"^{pattern}", line, text, count=1, flags=re.MULTILINE)
        assert count == 1, pattern
    file = tmp_path / "trn9.toml"
    file.write_text(text)
    monkeypatch.setenv("NEURON_SIM_ARCH", str(file))
    return str(file)


@nki.jit
def exponential(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=a)
    if nisa.get_nc_version() > nisa.nc_version.gen4:
        nisa.activation(dst=tile, op=nl.exp, data=tile)
    nisa.dma_copy(dst=out, src=tile)
    return out


def exponential_in_the_older_language(a):
    out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
    tile = old_nl.load(a)
    if old_nisa.get_nc_version() > old_nisa.nc_version.gen4:
        tile = old_nl.exp(tile)
    old_nl.store(out, tile)
    return out


def test_kernels_of_both_languages_see_the_generation(trn9):
    assert nisa.get_nc_version().name == old_nisa.get_nc_version().name == "gen5"
    assert nisa.get_nc_version() is nisa.nc_version(5)
    assert old_nisa.get_nc_version() == 5
    np.testing.assert_allclose(exponential(A), np.exp(A), rtol=1e-5)
    older = old.simulate_kernel(old.jit(exponential_in_the_older_language), A)
    np.testing.assert_allclose(older, np.exp(A), rtol=1e-5)


def test_a_version_is_a_whole_number_from_the_first_generation_on():
    for versions in (nisa.nc_version, old_nisa.nc_version):
        assert [each.name for each in versions] == ["gen2", "gen3", "gen4"]
        for number in (1, 0, -1, "gen5", 5.5, None):
            with pytest.raises(ValueError, match="nc_version"):
                versions(number)


def test_times_and_profiles_are_of_the_file(trn9, monkeypatch):
    kernel = exponential.traced(A)
    with pytest.warns(UserWarning, match="no compiler of its generation has been measured"):
        summary = profile_summary(kernel)
    assert summary["instance_type"] == "trn9"
    assert summary["neuroncore_cycle_count"] == round(summary["total_time"] * 1.2e9)
    active = summary["scalar_engine_active_time"]
    file = Path(trn9)
    file.write_text(file.read_text().replace("scalar = { value = 2.4", "scalar = { value = 1.2"))
    with pytest.warns(UserWarning, match="no compiler of its generation"):
        assert profile_summary(exponential.traced(A))["scalar_engine_active_time"] > active


TORCH = """
import torch
x = torch.arange(12.0).view(3, 4)
device = x.to("neuron_sim")
report([
    torch.neuron_sim.get_device_capability(),
    torch.neuron_sim.get_device_properties().neuron_core,
    (device @ device.T).tolist() == (x @ x.T).tolist(),
    torch.compile(lambda t: (t + 1).relu().sum(), backend="neuron_sim")(device).item(),
])
"""


@pytest.mark.torch
def test_torch_and_its_compiler_run_on_it(trn9):
    result = run_apart(TORCH, NEURON_SIM_ARCH=trn9, NEURON_SIM_STRICT="1").result()
    assert result == [[5, 0], "NeuronCore-v5", True, 78.0]
