"""Limits of a user's architecture file: both languages take them, as the builder does."""

import subprocess
import sys

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.compiler as ncc
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm
from neuron_sim import _core
from nki_errors import error_of

FACT = 'unit = "{}", source = "what if", certainty = "assumed"'
F32 = np.float32


@pytest.fixture
def wide(tmp_path, monkeypatch):
    """A trn2 with 256 partitions and PSUM banks of 4 KiB, which kernels are built for."""
    file = tmp_path / "wide.toml"
    count, size = FACT.format("1"), FACT.format("bytes")
    file.write_text(
        'base = "trn2"\nname = "wide"\n[limits]\n'
        f"partitions = {{ value = 256, {count} }}\n"
        f"psum_bank = {{ value = 4096, {size} }}\n"
    )
    monkeypatch.setenv("NEURON_SIM_ARCH", str(file))
    return str(file)


def doubled(partitions):
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((partitions, 8), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out, src=tile)
        return out

    return kernel


def doubled_in_the_older_language(a):
    return in_hbm(old_nl, old_nl.load(a) * 2)


@pytest.mark.parametrize("partitions", (129, 256))
def test_kernels_of_both_languages_use_all_partitions(wide, partitions):
    a = np.random.default_rng(0).standard_normal((partitions, 8), F32)
    np.testing.assert_array_equal(doubled(partitions)(a), a * 2)
    older = old.simulate_kernel(old.jit(doubled_in_the_older_language), a)
    np.testing.assert_array_equal(older, a * 2)


SCRIPT = """
import nki, nki.isa as nisa, nki.language as nl
import neuronxcc.nki as old, neuronxcc.nki.language as old_nl
import numpy as np

@nki.jit
def squared(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=a)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=nl.multiply)
    nisa.dma_copy(dst=out, src=tile)
    return out

@old.jit
def shifted(a):
    out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
    rows, columns = old_nl.arange(256)[:, None], old_nl.arange(8)[None, :]
    old_nl.store(out[rows, columns], old_nl.load(a[rows, columns], mask=rows < 256) + 1)
    return out

a = np.arange(256 * 8, dtype=np.float32).reshape(256, 8)
assert nl.tile_size.pmax == old_nl.tile_size.pmax == 256
np.testing.assert_array_equal(squared(a), a * a)
np.testing.assert_array_equal(shifted(a), a + 1)
print("256 partitions")
"""


def test_the_command_runs_tiles_of_all_partitions_of_a_file(tmp_path):
    file, script = tmp_path / "wide.toml", tmp_path / "kernel.py"
    count = FACT.format("1")
    file.write_text(f'base = "trn2"\n[limits]\npartitions = {{ value = 256, {count} }}\n')
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "neuron_sim", "run", "--arch", "wide.toml", "kernel.py"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.endswith("256 partitions\n")


def test_one_partition_more_is_refused_with_the_limit_of_the_file(wide):
    a = np.zeros((257, 8), F32)
    sentence = error_of(doubled(257), a)
    assert "number of partitions 257 exceed architecture limitation of 256." in sentence
    sentence = error_of(old.jit(doubled_in_the_older_language).traced, a)
    assert "exceed architecture limitation of 256." in sentence


def test_tile_sizes_are_those_of_the_file(wide):
    for size in (nl.tile_size, old_nl.tile_size):
        assert (size.pmax, size.psum_fmax, size.psum_bank_fmax_bytes) == (256, 1024, 4096)
        assert (size.gemm_stationary_fmax, size.gemm_moving_fmax) == (128, 512)


@pytest.mark.parametrize("name", _core.architectures())
def test_tile_sizes_are_those_of_the_vendor(name, monkeypatch):
    """The vendor's tables of tile sizes: only SBUF differs between generations."""
    monkeypatch.setenv("NEURON_SIM_ARCH", name)
    size = nl.tile_size
    limits = (size.pmax, size.psum_fmax, size.gemm_stationary_fmax, size.gemm_moving_fmax)
    assert limits == (128, 512, 128, 512)
    assert (size.bn_stats_fmax, size.psum_num_banks, size.psum_bank_fmax_bytes) == (512, 8, 2048)
    sbuf = {"inf2": 180224, "trn1": 180224, "trn2": 212984, "trn3": 245752}
    assert size.total_available_sbuf_size == sbuf[name.split("/")[-1]]


def test_the_address_of_a_bank_follows_its_size(wide):
    @old.jit
    def kernel(a):
        place = ncc.psum.mod_alloc(base_bank=1)
        tile = old_nl.ndarray((128, 1024), dtype=F32, buffer=place)  # a whole bank
        copied = old_nl.ndarray((128, 1024), dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=0))
        copied[...] = old_nl.load(a)
        tile[...] = old_nl.copy(copied)
        return in_hbm(old_nl, tile)

    a = np.ones((128, 1024), F32)
    np.testing.assert_array_equal(old.simulate_kernel(kernel, a), a)
