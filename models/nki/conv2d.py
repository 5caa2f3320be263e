"""A convolution fused with max-pooling for the NeuronCore, in the old NKI language.

The student part of Stanford CS149 assignment 4, part 2 (2024: trn1, 2025: trn2), and of Berkeley's
CS152 lab 6: put this file in place of the handout's conv2d.py, see docs/coursework.md.

Algorithm: each filter position (i, j) is a product of the filter's slice [input channels, output
channels] with the image shifted by (i, j). All positions and all tiles of 128 input channels
accumulate in one PSUM tile of a few output rows; pooling and bias run on the way to SBUF.

Tile plan: the transposed filters stay in SBUF; the image comes in strips of rows, each loaded once;
one product covers as many rows as a PSUM bank holds.
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

STRIP_BYTES = 24 * 1024
"""Bytes of an image strip per partition: two strips, results and filters must fit."""


@nki.jit
def fused_conv2d_maxpool(X, W, bias, pool_size=1):
    """Stride 1, no padding, then the maximum over pool_size x pool_size windows.

    X [batch, input channels, height, width], W [output channels, input channels, f, f], bias
    [output channels]; channels are multiples of 128. Returns [batch, output channels, h, w].
    """
    batch_size, in_channels, height, width = X.shape
    out_channels, _, filter_height, filter_width = W.shape
    out_height, out_width = height - filter_height + 1, width - filter_width + 1
    partitions = nl.tile_size.pmax
    assert in_channels % partitions == out_channels % partitions == 0
    assert pool_size * out_width <= nl.tile_size.gemm_moving_fmax
    assert out_height % pool_size == out_width % pool_size == 0

    X_out = nl.ndarray(
        (batch_size, out_channels, out_height // pool_size, out_width // pool_size),
        dtype=X.dtype,
        buffer=nl.hbm,
    )
    filters = load_filters(W)
    biases = load_bias(bias)

    rows = rows_per_product(out_height, out_width, pool_size)
    strip = rows_per_strip(X, filter_height, rows)
    strips, last = out_height // strip, out_height % strip
    for b in nl.affine_range(batch_size):
        for s in nl.affine_range(strips):
            convolve_strip(X, X_out, filters, biases, b, s * (strip // pool_size), strip, rows)
        if last:
            start = strips * strip // pool_size
            convolve_strip(X, X_out, filters, biases, b, start, last, rows)
    return X_out


@nki.jit
def conv2d_nki(X, W, bias):
    """The convolution without pooling, as Berkeley's CS152 lab 6 (open-ended portion) calls it."""
    return fused_conv2d_maxpool(X, W, bias, pool_size=1)


def rows_per_product(out_height, out_width, pool_size):
    """Output rows that fit one PSUM bank: a multiple of the window."""
    rows = min(out_height, nl.tile_size.gemm_moving_fmax // out_width)
    return rows - rows % pool_size


def rows_per_strip(X, filter_height, rows):
    """Output rows per strip of the image: a multiple of `rows`."""
    _, in_channels, height, width = X.shape
    row_bytes = in_channels // nl.tile_size.pmax * width * X.itemsize
    fitting = STRIP_BYTES // row_bytes - (filter_height - 1)
    return max(rows, min(height - filter_height + 1, fitting) // rows * rows)


def load_filters(W):
    """Filters in SBUF in the layout of the products.

    [128 input channels, input tile, f, f, output channels]: their transposes.
    """
    out_channels, in_channels, filter_height, filter_width = W.shape
    partitions = nl.tile_size.pmax
    in_tiles, out_tiles = in_channels // partitions, out_channels // partitions
    filters = nl.ndarray(
        (nl.par_dim(partitions), in_tiles, filter_height, filter_width, out_channels),
        dtype=W.dtype,
        buffer=nl.sbuf,
    )
    for o in nl.affine_range(out_tiles):
        loaded = nl.load(W[nl.ds(o * partitions, partitions)])
        for c in nl.affine_range(in_tiles):
            for i in nl.affine_range(filter_height):
                for j in nl.affine_range(filter_width):
                    turned = nisa.nc_transpose(loaded[:, nl.ds(c * partitions, partitions), i, j])
                    filters[:, c, i, j, nl.ds(o * partitions, partitions)] = nisa.tensor_copy(
                        turned
                    )
    return filters


def load_bias(bias):
    """Bias in SBUF, fp32: [128 output channels, output tile]."""
    partitions = nl.tile_size.pmax
    tiles = bias.shape[0] // partitions
    biases = nl.ndarray((nl.par_dim(partitions), tiles), dtype=nl.float32, buffer=nl.sbuf)
    tiled = bias.reshape((tiles, partitions, 1))
    for t in nl.affine_range(tiles):
        biases[:, nl.ds(t, 1)] = nl.load(tiled[t], dtype=nl.float32)
    return biases


def convolve_strip(X, X_out, filters, biases, b, pooled_start, strip, rows):
    """`strip` rows of the convolution of image b, all output channels: the rows of X_out from
    `pooled_start` on, which may be symbolic. `rows` go into one product.
    """
    partitions, in_tiles, filter_height, filter_width, out_channels = filters.shape
    width = X.shape[3]
    out_width = width - filter_width + 1
    pool_size = out_width // X_out.shape[3]
    start = pooled_start * pool_size
    image = nl.ndarray(
        (nl.par_dim(partitions), in_tiles, strip + filter_height - 1, width),
        dtype=X.dtype,
        buffer=nl.sbuf,
    )
    for c in nl.affine_range(in_tiles):
        image[:, c] = nl.load(
            X[b, nl.ds(c * partitions, partitions), nl.ds(start, strip + filter_height - 1)]
        )
    for o in nl.affine_range(out_channels // partitions):
        result = nl.ndarray(
            (nl.par_dim(partitions), strip // pool_size, out_width // pool_size),
            dtype=X.dtype,
            buffer=nl.sbuf,
        )
        for r in nl.affine_range(strip // rows):
            product_of_rows(image, filters, biases, result, o, r * (rows // pool_size), rows)
        if strip % rows:
            first = (strip - strip % rows) // pool_size
            product_of_rows(image, filters, biases, result, o, first, strip % rows)
        nl.store(
            X_out[
                b,
                nl.ds(o * partitions, partitions),
                nl.ds(pooled_start, strip // pool_size),
            ],
            value=result,
        )


def product_of_rows(image, filters, biases, result, o, pooled_row, rows):
    """`rows` rows of the convolution for output tile o, pooled, with bias: the rows of `result`
    from `pooled_row` on.
    """
    partitions, in_tiles, filter_height, filter_width, _ = filters.shape
    out_width = image.shape[3] - filter_width + 1
    pool_size = out_width // result.shape[2]
    row = pooled_row * pool_size
    total = nl.zeros((nl.par_dim(partitions), rows, out_width), dtype=nl.float32, buffer=nl.psum)
    for c in nl.affine_range(in_tiles):
        for i in nl.affine_range(filter_height):
            for j in nl.affine_range(filter_width):
                total += nisa.nc_matmul(
                    filters[:, c, i, j, nl.ds(o * partitions, partitions)],
                    image[:, c, nl.ds(row + i, rows), nl.ds(j, out_width)],
                )
    if pool_size > 1:
        p, y, x, dy, dx = nl.mgrid[
            0:partitions,
            0 : rows // pool_size,
            0 : out_width // pool_size,
            0:pool_size,
            0:pool_size,
        ]
        total = nisa.tensor_reduce(
            nl.max, total[p, pool_size * y + dy, pool_size * x + dx], axis=[3, 4]
        )
    result[:, nl.ds(pooled_row, rows // pool_size)] = nisa.tensor_scalar(
        total, nl.add, biases[:, o], dtype=result.dtype
    )
