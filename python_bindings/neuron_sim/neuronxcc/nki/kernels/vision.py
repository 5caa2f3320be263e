"""neuronxcc.nki.kernels.vision: images resized to the nearest pixel, and the way back of a pool."""

import numpy as np

from .. import language as nl
from ..kernel import jit
from .softmax import check


@jit
def resize_nearest_fixed_dma_kernel(data_tensor, out_shape):
    """An image whose pixel (y, x) is the source's at floor(y * in_h / h), floor(x * in_w / w),
    gathered by DMA, [batch](...).

    data_tensor: (batch, in_h, in_w, channels); out_shape: (batch, h, w, channels). ValueError for
    another batch or other channels.
    """
    batch, in_h, in_w, channels = data_tensor.shape
    check(out_shape[0] == batch, "input batch and output batch must be identical")
    check(out_shape[3] == channels, "input channel and output channel must be identical")
    out = nl.ndarray(out_shape, dtype=data_tensor.dtype, buffer=nl.shared_hbm)
    y, x = (
        np.floor(np.arange(target) * (source / target)).astype(np.int32)
        for source, target in ((in_h, out_shape[1]), (in_w, out_shape[2]))
    )
    places = (y[:, None] * in_w + x[None, :]).reshape(-1, 1)
    b, columns = nl.program_id(axis=0), nl.arange(channels)[None, :]
    pixels = data_tensor[b].reshape((in_h * in_w, channels))
    result = out[b].reshape((len(places), channels))
    for first in range(0, len(places), nl.tile_size.pmax):
        count = min(nl.tile_size.pmax, len(places) - first)
        index = nl.load(nl.shared_constant(places[first : first + count]))
        gathered = nl.load(pixels[index[nl.arange(count)[:, None], 0], columns])
        nl.store(result[nl.ds(first, count), :], gathered)
    return out


@jit
def select_and_scatter_kernel(operand_tensor, source_tensor):
    """The gradient of a max pool of windows (3, 3), strides (2, 2) and padding (1, 1): source is
    added where each window of operand has its largest element, the first of equal ones.

    operand: (n, c, h, w); source: (n, c, (h + 1) // 2, (w + 1) // 2), of one dtype. Returns a
    tensor like operand. ValueError for another source.
    """
    images, channels, height, width = operand_tensor.shape
    shape = (images, channels, (height + 1) // 2, (width + 1) // 2)
    check(source_tensor.shape == shape, f"source {source_tensor.shape} must be {shape}")
    dtype, rows = operand_tensor.dtype, nl.tile_size.pmax
    out = nl.ndarray(operand_tensor.shape, dtype=dtype, buffer=nl.shared_hbm)
    for image in range(images):
        for first in range(0, channels, rows):
            part = nl.ds(first, min(rows, channels - first))
            padded = (part.size, height + 3, width + 3)
            inside = (slice(None), slice(1, height + 1), slice(1, width + 1))
            operand = nl.full(padded, nl.fp32.min, dtype=nl.float32)
            operand[inside] = nl.load(operand_tensor[image, part])
            source = nl.load(source_tensor[image, part])
            result = nl.zeros(padded, dtype=nl.float32)
            windows = [
                (slice(None), slice(y, y + 2 * shape[2], 2), slice(x, x + 2 * shape[3], 2))
                for y in range(3)
                for x in range(3)
            ]
            largest = nl.copy(operand[windows[0]])
            for window in windows[1:]:
                largest[...] = nl.maximum(largest, operand[window])
            left = nl.copy(source, dtype=nl.float32)  # what no element before has taken
            for window in windows:
                taken = nl.multiply(nl.equal(operand[window], largest, dtype=nl.float32), left)
                result[window] = nl.add(result[window], taken)
                left[...] = nl.subtract(left, taken)
            nl.store(out[image, part], nl.copy(result[inside], dtype=dtype))
    return out
