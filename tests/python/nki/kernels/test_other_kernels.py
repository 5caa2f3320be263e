"""neuronxcc.nki.kernels besides attention against NumPy and PyTorch's rules."""

import ml_dtypes
import numpy as np
import pytest
from neuron_sim.neuronxcc.nki.kernels import (
    allocated_fused_rms_norm_qkv,
    resize_nearest_fixed_dma_kernel,
    select_and_scatter_kernel,
)
from nki_errors import error_of

RANDOM = np.random.default_rng(12)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("length", "dim", "columns"), [(128, 256, 512), (200, 128, 96)])
def test_an_rms_norm_and_a_product(length, dim, columns, dtype):
    hidden = RANDOM.uniform(-1, 1, (2, length, dim)).astype(dtype)
    weights = RANDOM.uniform(-0.1, 0.1, (dim, columns)).astype(dtype)
    exact = hidden.astype(np.float64)
    normal = exact / np.sqrt((exact**2).mean(axis=-1, keepdims=True) + 1e-6)
    out = allocated_fused_rms_norm_qkv(hidden, weights)
    assert out.dtype == dtype
    np.testing.assert_allclose(
        out.astype(np.float64), normal @ weights.astype(np.float64), rtol=2e-2, atol=2e-2
    )
    assert error_of(allocated_fused_rms_norm_qkv, hidden, np.zeros((dim, 513), dtype)).startswith(
        "head dim must be at most 512, got 513"
    )


@pytest.mark.parametrize(("source", "target"), [((30, 20), (59, 38)), ((6, 5), (4, 9))])
def test_an_image_is_resized_to_the_nearest_pixel(source, target):
    image = RANDOM.uniform(-1, 1, (2, *source, 24)).astype(np.float32)
    rows, columns = (np.arange(n) * m // n for m, n in zip(source, target, strict=True))
    out = resize_nearest_fixed_dma_kernel[2](image, (2, *target, 24))
    np.testing.assert_array_equal(out, image[:, rows][:, :, columns])
    assert error_of(resize_nearest_fixed_dma_kernel[2], image, (2, *target, 25)).startswith(
        "input channel and output channel must be identical"
    )


def scattered(operand, source):
    """Window by window: the first largest element inside of the image gets the source."""
    result = np.zeros_like(operand)
    for n, c, y, x in np.ndindex(*source.shape):
        places = [
            (i, j)
            for i in range(2 * y - 1, 2 * y + 2)
            for j in range(2 * x - 1, 2 * x + 2)
            if 0 <= i < operand.shape[2] and 0 <= j < operand.shape[3]
        ]
        largest = max(places, key=lambda place: operand[n, c][place])
        result[n, c][largest] += source[n, c, y, x]
    return result


@pytest.mark.parametrize(("shape", "equal"), [
    ((2, 3, 8, 8), False), ((1, 5, 7, 10), False), ((1, 2, 6, 6), True), ((1, 130, 4, 4), False),
])  # fmt: skip
def test_a_source_is_scattered_to_the_largest_element_of_each_window(shape, equal):
    operand = RANDOM.uniform(-1, 1, shape).astype(np.float32)
    operand = np.round(operand) if equal else operand
    n, c, h, w = shape
    source = RANDOM.uniform(-1, 1, (n, c, (h + 1) // 2, (w + 1) // 2)).astype(np.float32)
    out = select_and_scatter_kernel(operand, source)
    np.testing.assert_allclose(out, scattered(operand, source), atol=1e-6)
    message = error_of(select_and_scatter_kernel, operand, source[..., 1:])
    assert message.startswith(f"source {source[..., 1:].shape} must be {source.shape}")
