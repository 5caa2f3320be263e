"""The examples of the vendor's function pages: their shapes, operators and forms, against NumPy in
float64."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from isa_functions import entries
from isa_functions.tiles import hundreds
from isa_harness import in_hbm, integers, result_of, target

EXAMPLES = entries("examples")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_computes_what_its_page_says(name):
    example = EXAMPLES[name]
    wide = [a.astype(np.float64) if a.dtype == np.float32 else a for a in example.arrays]
    result = result_of(example.body, *example.arrays, language=example.language)
    np.testing.assert_allclose(result, example.expected(*wide), rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize("probability", ["a tile", "a number"])
def test_dropout_drops_about_its_probability(probability):
    a = hundreds(128, 512) + 1
    if probability == "a tile":
        b = np.repeat(np.linspace(0, 1, 128, dtype=np.float32)[:, None], 1, axis=1)
        dropped = result_of(lambda x, p: nisa.dropout(x, prob=p), a, b, language="old") == 0
        assert not dropped[0].any() and dropped[-1].all()
        assert abs(dropped.mean() - 0.5) < 0.02
    else:
        dropped = result_of(lambda x: nisa.dropout(x, prob=0.2), a, language="old") == 0
        assert abs(dropped.mean() - 0.2) < 0.02


def test_local_gather_takes_four_elements_per_index_for_each_core():
    source = hundreds(128, 512, 4)
    index = integers(16, 4, high=512, dtype=np.uint16)

    def body(buffer, indices):
        return nisa.local_gather(buffer, indices, 4, 64)

    result = result_of(body, source, np.tile(index, (8, 1)) * np.uint16(4), language="old")
    expected = source[:, index.T.ravel()].reshape(128, 4, 16, 4)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("source", ["hbm", "sbuf"])
def test_dma_transpose_of_16_rows(source):
    @nki.jit
    def kernel(a):
        turned = nisa.dma_transpose(a[:, :] if source == "hbm" else nl.load(a)[:, :])
        return in_hbm(nl, turned)

    a = hundreds(16, 128).astype(np.float16)
    for architecture in ("trn1", "trn2"):
        with target(architecture):
            np.testing.assert_array_equal(kernel(a), a.T)


@pytest.mark.parametrize(("step", "mode"), [(2, "error"), (3, "skip")])
def test_dma_copy_gathers_rows_and_skips_those_beyond(step, mode):
    @nki.jit
    def kernel(a):
        out = nl.ndarray((64, 512), dtype=a.dtype, buffer=nl.shared_hbm)
        rows = nisa.iota(step * nl.arange(64)[:, None], dtype=np.int32)
        tile = nisa.memset(shape=(64, 512), value=-1, dtype=a.dtype)
        i_p, i_f = nl.mgrid[0:64, 0:512]
        nisa.dma_copy(src=a[rows, i_f], dst=tile[i_p, i_f], oob_mode=nisa.oob_mode[mode])
        nl.store(out, value=tile)
        return out

    a = hundreds(128, 512)
    rows = step * np.arange(64)
    expected = np.where((rows < 128)[:, None], a[np.minimum(rows, 127)], -1)
    np.testing.assert_array_equal(kernel(a), expected)


def test_dma_copy_adds_to_the_rows_of_an_index():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
        i_p, i_f = nl.mgrid[0:64, 0:512]
        tile = nl.load(a[i_p, i_f])
        rows = nisa.iota(2 * nl.arange(64)[:, None], dtype=np.int32)
        nl.store(out, value=nisa.memset(shape=(128, 512), value=1, dtype=a.dtype))
        nisa.dma_copy(dst=out[rows, i_f], src=tile, dst_rmw_op=np.add)
        return out

    a = hundreds(64, 512)
    expected = np.ones((128, 512), np.float32)
    expected[::2] += a
    np.testing.assert_allclose(kernel(a), expected, rtol=1e-6)
