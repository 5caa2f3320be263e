"""Kernels whose tiles do not fit SBUF or PSUM, against NumPy and against a larger chip."""

import warnings

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import neuron_sim.nki.isa as new_nisa
import neuron_sim.nki.language as new_nl
import numpy as np
import pytest
from neuron_sim import nki as new_nki
from neuron_sim.nki.measurement.recorded import profile_summary

F32 = np.float32
TILE = 128 * 512 * 4  # bytes of a tile [128, 512]


@pytest.fixture
def chip(tmp_path, monkeypatch):
    """chip(kibibytes): kernels are built for trn2 with that much SBUF per partition."""

    def use(kibibytes: int) -> None:
        file = tmp_path / f"chip_{kibibytes}.toml"
        file.write_text(
            f'base = "trn2"\n[limits]\nsbuf_usable = {{ value = {1024 * kibibytes}, '
            'unit = "bytes", source = "a test", certainty = "assumed" }\n'
        )
        monkeypatch.setenv("NEURON_SIM_ARCH", str(file))

    return use


@nki.jit
def products(left, right):
    """out[i, j] = left[i].T @ right[j], every product in a block of one PSUM tensor."""
    rows, columns = left.shape[0], right.shape[0]
    out = nl.ndarray((rows, columns, 128, 512), dtype=F32, buffer=nl.shared_hbm)
    stationary = nl.ndarray((rows, nl.par_dim(128), 128), dtype=F32, buffer=nl.sbuf)
    moving = nl.ndarray((columns, nl.par_dim(128), 512), dtype=F32, buffer=nl.sbuf)
    sums = nl.zeros(
        (rows, columns, nl.par_dim(128), 512), dtype=F32, buffer=nl.psum, lazy_initialization=True,
    )  # fmt: skip
    for j in nl.affine_range(columns):
        moving[j] = nl.load(right[j])
    for i in nl.affine_range(rows):
        stationary[i] = nl.load(left[i])
        for j in nl.affine_range(columns):
            for _ in nl.affine_range(2):
                sums[i, j] += nisa.nc_matmul(stationary[i], moving[j])
            nl.store(out[i, j], nl.copy(sums[i, j], dtype=F32))
    return out


@nki.jit
def reversed_rows(a):
    """out[i] = 2 a[n - 1 - i]: every row is doubled before the first one is stored."""
    rows = a.shape[0]
    out = nl.ndarray(a.shape, dtype=F32, buffer=nl.shared_hbm)
    doubled = nl.ndarray((rows, nl.par_dim(128), 512), dtype=F32, buffer=nl.sbuf)
    for i in nl.affine_range(rows):
        doubled[i] = nl.multiply(nl.load(a[i]), 2.0)
    for i in nl.affine_range(rows):
        nl.store(out[i], doubled[rows - 1 - i])
    return out


def rows_of(count: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((count, 128, 512), F32)


def run_compiled(traced, array: np.ndarray) -> np.ndarray:
    """What the program after the compiler's passes computes."""
    result = np.zeros_like(array)
    traced.program.run([array.copy(), result])
    return result


def test_zeros_in_psum_take_a_bank_only_from_their_first_product_on():
    left = rows_of(5)[:, :, :128].copy()
    right = rows_of(4)
    out = nki.simulate_kernel(products, left, right)
    expected = 2 * np.einsum("ikm,jkn->ijmn", left.astype(np.float64), right)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is spilled
        traced = products.traced(left, right)
        assert traced.time()["body_us"] > 0
    assert "need 40960 bytes" in traced.source.overflow
    assert not any(traced.program.spills.values())


def test_blocks_that_do_not_fit_are_saved_and_reloaded_with_the_same_bytes(chip):
    a = rows_of(12)
    chip(190)
    ample = reversed_rows.traced(a)
    chip(16)
    small = reversed_rows.traced(a)
    assert not ample.source.overflow and "sbuf" in small.source.overflow
    np.testing.assert_array_equal(nki.simulate_kernel(reversed_rows, a), 2 * a[::-1])
    with pytest.warns(UserWarning, match="does not fit SBUF and PSUM of chip_16: .* saves to HBM"):
        spills = small.program.spills
    np.testing.assert_array_equal(run_compiled(small, a), 2 * a[::-1])
    assert spills["save_bytes"] == spills["reload_bytes"] == spills["saves"] * TILE > 0
    before, after = (each.program.counters() for each in (ample, small))
    assert after["hbm_write_bytes"] - before["hbm_write_bytes"] == spills["save_bytes"]
    assert after["hbm_read_bytes"] - before["hbm_read_bytes"] == spills["reload_bytes"]
    assert small.time()["body_us"] > ample.time()["body_us"]


def test_the_profile_counts_what_is_spilled(chip):
    a = rows_of(12)
    chip(190)
    summary = profile_summary(reversed_rows.traced(a))
    assert summary["spill_save_bytes"] == summary["spill_reload_bytes"] == 0
    chip(16)
    traced = reversed_rows.traced(a)
    with pytest.warns(UserWarning, match="the compiler adds"):
        summary = profile_summary(traced)
    assert summary["spill_save_bytes"] == summary["spill_reload_bytes"] > 0


def test_the_new_language_spills_too(chip):
    @new_nki.jit
    def kernel(a):
        out = new_nl.ndarray(a.shape, dtype=a.dtype, buffer=new_nl.shared_hbm)
        tiles = []
        for i in range(6):
            tile = new_nl.ndarray((128, 512), dtype=a.dtype, buffer=new_nl.sbuf)
            new_nisa.dma_copy(dst=tile, src=a[i])
            new_nisa.tensor_scalar(dst=tile, data=tile, op0=new_nl.add, operand0=1.0)
            tiles.append(tile)
        for i in range(6):
            new_nisa.dma_copy(dst=out[i], src=tiles[i])
        return out

    a = rows_of(6)
    chip(8)
    np.testing.assert_array_equal(kernel(a), a + 1)
    traced = kernel.traced(a)
    with pytest.warns(UserWarning, match=r"\d saves to HBM .* \d reloads"):
        spills = traced.program.spills
    # Two of six tiles have no place among four; more are spilled where reloads then wait less.
    assert 2 <= spills["saves"] == spills["reloads"] <= 6
    np.testing.assert_array_equal(run_compiled(traced, a), a + 1)


def test_tiles_of_one_instruction_that_do_not_fit_are_refused(chip):
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=F32, buffer=nl.shared_hbm)
        nl.store(out[0], nl.add(nl.load(a[0]), nl.load(a[1])))
        return out

    a = rows_of(2)
    chip(6)
    kernel.traced(a)
    chip(5)
    with pytest.raises(MemoryError, match="need 6144 bytes per partition, chip_5 has 5120"):
        kernel.traced(a)


def test_a_listing_of_memory_has_sizes_live_ranges_and_spills(chip, monkeypatch, capfd):
    chip(16)
    monkeypatch.setenv("NEURON_SIM_EXPLAIN_MEMORY", "1")
    with pytest.warns(UserWarning, match="the compiler adds"):
        reversed_rows.traced(rows_of(11))
    err = capfd.readouterr().err
    assert "memory of kernel 'reversed_rows' on chip_16:\nsbuf: 16384 bytes per partition" in err
    (row,) = (line for line in err.splitlines() if line.startswith("  doubled "))
    assert "[128, 512]" in row and "float32" in row and " 2048 " in row
    assert "spills: " in err
