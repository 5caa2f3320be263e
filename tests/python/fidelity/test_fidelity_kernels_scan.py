"""Fidelity kernels of the selective scan against float64."""

import numpy as np
import pytest
from neuron_sim.fidelity.kernels import mamba_scan
from neuron_sim.fidelity.kernels.mamba_chunks import ChunkedScan
from neuron_sim.fidelity.kernels.mamba_scan import VARIANTS, Scan
from neuron_sim.fidelity.kernels.mamba_tensors import ScanSizes
from neuron_sim.fidelity.measurement import load_measurements, parse_measurement


def scanned(delta, u, a, b, c):
    """float64"""
    delta, u, a, b, c = (each.astype(np.float64) for each in (delta, u, a, b, c))
    out = np.zeros_like(delta)
    for state in range(a.shape[1]):
        x = np.zeros(delta.shape[:2])
        for t in range(delta.shape[2]):
            step = delta[:, :, t]
            x = np.exp(step * a[None, :, state]) * x
            x += step * u[:, :, t] * b[:, state, t][:, None]
            out[:, :, t] += x * c[:, state, t][:, None]
    return out


def kernel(name, sizes):
    if name in VARIANTS:
        return Scan(sizes, VARIANTS[name], name)
    return ChunkedScan(sizes, unrolled=name == "6")


@pytest.mark.parametrize("name", [*VARIANTS, "4", "6"])
@pytest.mark.parametrize("architecture", ["trn1", "trn2"])
def test_selective_scans(name, architecture):
    batch, channels, states = 2, 256, 3
    sequence = {"v3": 1024}.get(name, 37 if name in VARIANTS else 515)
    random = np.random.default_rng(7)
    delta = np.abs(random.standard_normal((batch, channels, sequence))) / 2
    u = random.standard_normal((batch, channels, sequence))
    a = -np.abs(random.standard_normal((channels, states)))
    b, c = random.standard_normal((2, batch, states, sequence))
    arrays = [each.astype(np.float32) for each in (delta, u, a, b, c)]
    out = np.zeros((batch, channels, sequence), np.float32)
    sizes = ScanSizes(architecture, batch, channels, sequence, states, "float32")
    kernel(name, sizes).build().run([*arrays, out])
    np.testing.assert_allclose(out, scanned(*arrays), atol=2e-4)


@pytest.mark.parametrize("name", [*VARIANTS, "4", "6"])
def test_selective_scans_of_16_bit_values_can_be_built(name):
    sizes = ScanSizes("trn1", 1, 128, 512, 2, "bfloat16")
    assert kernel(name, sizes).build().time()["body_us"] > 0


@pytest.mark.parametrize(("text", "shapes", "known"), [
    ("mamba_v2", "batch 2 channels 512 seq 512 state 8", True),
    ("mamba step 6", "batch 1 channels 256 seq_len 2048 state 16", True),
    ("mamba step 5", "channels 256 seq 2048 state 16", False),
    ("mamba_v3", "channels 256 seq 600", False),  # no multiple of its chunk
    ("mamba_v2", "channels 200 seq 512", False),  # no multiple of 128
    ("mamba_v2", "-", False),
])  # fmt: skip
def test_version_and_sizes_are_read_from_the_texts(text, shapes, known):
    entry = {"id": "x", "family": "mamba_scan", "arch": "trn1", "value": 1, "dtype": "float32"}
    case = mamba_scan.match(parse_measurement(entry | {"kernel": text, "shapes": shapes}))
    assert (case is not None) == known


def test_every_published_measurement_of_the_family_has_a_kernel():
    entries = [
        entry
        for entry in load_measurements()
        if entry.family == "mamba_scan" and entry.split == "calibration"
    ]
    assert entries
    for entry in entries:
        case = mamba_scan.match(entry)
        assert case is not None, entry.id
        assert case.launches[0].build().instructions > 0
