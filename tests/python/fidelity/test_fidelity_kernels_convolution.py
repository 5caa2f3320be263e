"""Fidelity kernels of convolutions against float64."""

import numpy as np
import pytest
from neuron_sim.fidelity.kernels import conv1d_depthwise, conv2d
from neuron_sim.fidelity.kernels.conv1d_depthwise import DepthwiseConvolution
from neuron_sim.fidelity.kernels.conv2d import RowConvolution
from neuron_sim.fidelity.kernels.conv2d_windows import WindowConvolution
from neuron_sim.fidelity.kernels.convolution import Convolution, read_convolution
from neuron_sim.fidelity.measurement import load_measurements, parse_measurement


def normal(*shape, dtype=np.float32):
    return np.random.default_rng(5).standard_normal(shape).astype(dtype)


def measurement(**texts):
    entry = {"id": "x", "arch": "trn2", "value": 1, "dtype": "float32", "metric": "NC latency"}
    return parse_measurement(entry | texts)


def convolved(x, w, bias, pool):
    """float64"""
    kernel = w.shape[2]
    rows, columns = x.shape[2] - kernel + 1, x.shape[3] - kernel + 1
    result = np.zeros((x.shape[0], w.shape[0], rows, columns)) + bias.reshape(1, -1, 1, 1)
    for i in range(kernel):
        for j in range(kernel):
            part = x[:, :, i : i + rows, j : j + columns].astype(np.float64)
            result += np.einsum("oc,bchw->bohw", w[:, :, i, j].astype(np.float64), part)
    split = result.reshape(*result.shape[:2], rows // pool, pool, columns // pool, pool)
    return split.max(axis=(3, 5))


@pytest.mark.parametrize(
    ("kernel", "architecture"), [(RowConvolution, "trn2"), (WindowConvolution, "trn1")]
)
@pytest.mark.parametrize(
    ("sizes", "pool"),
    [((1, 128, 5, 7, 128, 2), 1), ((2, 256, 5, 8, 256, 3), 1), ((1, 256, 6, 6, 128, 3), 2)],
)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-4), ("float16", 0.2)])
def test_convolutions_with_and_without_pooling(kernel, architecture, sizes, pool, dtype, tolerance):
    convolution = Convolution(architecture, *sizes, pool, dtype)
    batch, channels, height, width, outs, taps = sizes
    x, w = (
        normal(batch, channels, height, width, dtype=dtype),
        normal(outs, channels, taps, taps, dtype=dtype),
    )
    bias = normal(outs, 1, dtype=dtype)
    expected = convolved(x, w, bias, pool)
    out = np.zeros(expected.shape, dtype)
    kernel(convolution).build().run([x, w, bias, out])
    np.testing.assert_allclose(out, expected, atol=tolerance)


@pytest.mark.parametrize(
    ("height", "width", "rows"), [(224, 224, 2), (32, 16, 30), (20, 22, 18), (223, 224, 1)]
)
def test_windows_are_as_tall_as_a_bank_allows(height, width, rows):
    sizes = Convolution("trn1", 1, 128, height, width, 128, 3, 1, "float32")
    assert WindowConvolution(sizes).rows == rows


def test_pools_across_row_tiles_are_not_built():
    sizes = Convolution("trn1", 1, 128, 32, 402, 128, 3, 2, "float32")
    assert WindowConvolution(sizes).rows == 1
    assert not WindowConvolution(sizes).possible


@pytest.mark.parametrize(("shapes", "pool"), [
    ("X (1,256,224,224) W (256,256,3,3) bias (256,) pool_size=1", 1),
    ("X (1,256,224,224) W (256,256,3,3) bias (256,) pool_size=2", 2),
    ("X (1,256,224,224) W (256,256,3,3), 2x2 maxpool", 2),
    ("X (1,256,224,224) W (256,256,3,3)", 1),
])  # fmt: skip
def test_the_pool_is_read_from_the_shapes(shapes, pool):
    entry = measurement(
        family="conv2d", kernel="fused_conv2d_maxpool", shapes=shapes, description="(2 with pool)"
    )
    assert read_convolution(entry).pool == pool


@pytest.mark.parametrize("shapes", [
    "X (1,100,224,224) W (256,100,3,3)", "X (1,128,224,224) W (256,256,3,3)",
    "X (1,128,224,700) W (128,128,3,3)", "W (256,256,3,3)",
])  # fmt: skip
def test_convolutions_that_break_the_assertions_are_none(shapes):
    entry = measurement(family="conv2d", kernel="fused_conv2d_maxpool", shapes=shapes)
    assert conv2d.match(entry) is None


@pytest.mark.parametrize("step", conv1d_depthwise.STEPS)
@pytest.mark.parametrize(
    ("batch", "channels", "width", "taps", "padding"),
    [(2, 256, 70, 3, 1), (1, 5, 9, 4, 0), (1, 3, 1, 1, 0)],
)
def test_depthwise_convolutions(step, batch, channels, width, taps, padding):
    kernel = DepthwiseConvolution("trn1", step, batch, channels, width, taps, padding, "float32")
    image, filters = normal(batch, channels, width), normal(channels, taps)
    out = np.zeros((batch, channels, kernel.out_width), np.float32)
    kernel.build().run([image, filters, out])
    padded = np.pad(image.astype(np.float64), ((0, 0), (0, 0), (padding, padding)))
    expected = sum(
        padded[:, :, tap : tap + kernel.out_width] * filters[None, :, tap : tap + 1]
        for tap in range(taps)
    )
    np.testing.assert_allclose(out, expected, atol=1e-5)


@pytest.mark.parametrize("module", [conv1d_depthwise, conv2d])
def test_every_published_measurement_of_the_family_has_a_kernel(module):
    family = module.__name__.rsplit(".", 1)[1]
    counted = [entry for entry in load_measurements() if entry.split == "calibration"]
    entries = [entry for entry in counted if entry.family == family]
    assert entries
    for entry in entries:
        case = module.match(entry)
        assert case is not None, entry.id
        assert case.launches[0].build().instructions > 0
