"""neuron_sim.time_kernel and neuron_sim.trace: times of kernels without a run."""

import dataclasses
import subprocess
import sys

import neuron_sim
import numpy as np
import pytest
from neuron_sim import _core, nki
from neuron_sim.neuronxcc import nki as old_nki
from neuron_sim.neuronxcc.nki import language as old_nl
from neuron_sim.nki import language as nl
from neuron_sim.timeline import read_timeline
from register_kernels import doubled_rows, int32

OPERANDS = [[256, 128], [128, 512]]
FAST = neuron_sim.architecture("trn2", {"clocks.tensor": "2x", "dma.bandwidth": "4x"})


@nki.jit
def doubled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), 2.0))
    return out


@old_nki.jit
def old_doubled(x):
    out = old_nl.ndarray(x.shape, dtype=x.dtype, buffer=old_nl.shared_hbm)
    old_nl.store(out, old_nl.load(x) * 2.0)
    return out


@pytest.mark.parametrize("architecture", [*_core.architectures(), pytest.param(FAST, id="fast")])
def test_a_kernel_of_the_library_has_the_figures_of_the_core(architecture):
    timed = neuron_sim.time_kernel("matmul", OPERANDS, "bfloat16", architecture)
    expected = _core.time_kernel("matmul", OPERANDS, "bfloat16", architecture)
    figures = dataclasses.asdict(timed)
    assert len({*figures} & {*expected}) == 12
    assert all(figures[name] == expected[name] for name in {*figures} & {*expected})
    assert timed.name == "matmul" and (timed.architecture == architecture or architecture is FAST)


def test_options_and_the_architecture_of_the_environment_count(monkeypatch):
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn1")
    timed = neuron_sim.time_kernel("matmul", [[128, 256], [128, 512]], options={"transpose_x": 1})
    assert timed.architecture == "trn1" and timed.multiply_accumulates == 256 * 128 * 512
    with pytest.raises(ValueError, match="kernel 'softmax' is unknown"):
        neuron_sim.time_kernel("softmax", OPERANDS)


def test_an_nki_kernel_is_timed_as_its_calls_are_without_a_run():
    x = np.full((128, 512), 3, np.float32)
    timed = neuron_sim.trace(doubled, x)
    expected = doubled.traced(x).time()
    assert timed.body_us == expected["body_us"] and timed.dma_bytes == 2 * x.nbytes
    assert neuron_sim.trace(doubled, x, architecture=FAST).body_us < timed.body_us
    assert neuron_sim.trace(doubled, x=x, architecture="gen3").architecture == "trn2"
    assert neuron_sim.trace(old_doubled, x, architecture="trn1").dma_bytes == 2 * x.nbytes


def test_a_kernel_whose_loops_depend_on_data_is_timed_for_its_arguments():
    x = np.ones((128, 64), np.float32)
    few, many = (neuron_sim.trace(doubled_rows, x, int32(1, last)) for last in (3, 100))
    assert many.instructions - few.instructions >= 3 * 97 and many.body_us > few.body_us
    doubled_rows(x, int32(1, 100))
    assert many.body_us == doubled_rows.traced(x, int32(1, 100)).time()["body_us"]
    assert (x == 1).all()


def test_its_files_show_what_it_says(tmp_path):
    x = np.zeros((128, 512), np.float32)
    timed = neuron_sim.trace(doubled, x, architecture="trn2")
    timed.write_timeline(tmp_path / "page.html")
    assert read_timeline(tmp_path / "page.html").title == "doubled on trn2"
    timed.write_perfetto(tmp_path / "page.pftrace")
    expected = doubled.traced(x).program.perfetto()
    assert (tmp_path / "page.pftrace").read_bytes() == expected
    assert timed.listing().startswith("kernel doubled for trn2")
    assert timed.advice().body_us == timed.body_us


def test_what_is_no_kernel_is_refused():
    with pytest.raises(TypeError, match="no NKI kernel: it lacks the decorator"):
        neuron_sim.trace(len, [1])
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        neuron_sim.trace(doubled)


def test_a_program_with_strict_types_uses_the_api(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "consumer.py"
    program.write_text(
        "import neuron_sim\n"
        "chip: neuron_sim.Architecture = neuron_sim.architecture('trn2', {'clocks.tensor': 2.5})\n"
        "timed = neuron_sim.time_kernel('transpose', [[128, 64]], 'float32', chip, {})\n"
        "share: float = timed.utilisation['Tensor']\n"
        "source: str = chip.fact('clocks.tensor').source\n"
        "print(timed.body_us + share, source, timed.advice().bound)\n"
        "timed.write_timeline('page.html')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    checked = subprocess.run([*command, program], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    program.write_text("import neuron_sim\nneuron_sim.time_kernel('transpose', [128])\n")
    refused = subprocess.run([*command, program], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 1 and "incompatible type" in refused.stdout
