"""Transposes of any matrix whose sides are multiples of 128, in the old NKI language.

The student part of Stanford CS149 assignment 4 (2025), part 1, step 3: put the function in place of
`matrix_transpose` of the handout's part1/kernels.py, see docs/coursework.md.

A row of tiles is loaded at once and transposed tile by tile on the Tensor engine; the results of a
block of rows are stored together, so that each DMA moves long runs.
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

BLOCK = 4
"""Tiles of 128 x 128 per side of a block that is loaded and stored at once."""


@nki.jit
def matrix_transpose(a_tensor):
    """out [N, M] = a_tensor [M, N] transposed; M and N are multiples of 128."""
    M, N = a_tensor.shape
    out = nl.ndarray((N, M), dtype=a_tensor.dtype, buffer=nl.hbm)
    tile_dim = nl.tile_size.pmax
    assert M % tile_dim == N % tile_dim == 0, "Matrix dimensions not divisible by tile dimension!"

    block_m = block_of(M // tile_dim)
    block_n = block_of(N // tile_dim)
    for m in nl.affine_range(M // tile_dim // block_m):
        for n in nl.affine_range(N // tile_dim // block_n):
            turn_block(a_tensor, out, m * block_m, n * block_n, block_m, block_n)
    return out


def block_of(tiles):
    """The largest divisor of `tiles` up to BLOCK."""
    return max(size for size in range(1, BLOCK + 1) if tiles % size == 0)


def turn_block(a_tensor, out, first_m, first_n, block_m, block_n):
    """Transposes tiles first_m .. + block_m by first_n .. + block_n."""
    tile_dim = nl.tile_size.pmax
    loaded = nl.ndarray(
        (nl.par_dim(tile_dim), block_m, block_n * tile_dim), dtype=a_tensor.dtype, buffer=nl.sbuf
    )
    for m in nl.affine_range(block_m):
        nisa.dma_copy(
            src=a_tensor[
                nl.ds((first_m + m) * tile_dim, tile_dim),
                nl.ds(first_n * tile_dim, block_n * tile_dim),
            ],
            dst=loaded[:, m],
        )
    for n in nl.affine_range(block_n):
        turned = nl.ndarray(
            (nl.par_dim(tile_dim), block_m * tile_dim), dtype=a_tensor.dtype, buffer=nl.sbuf
        )
        for m in nl.affine_range(block_m):
            transposed = nisa.nc_transpose(loaded[:, m, nl.ds(n * tile_dim, tile_dim)])
            turned[:, nl.ds(m * tile_dim, tile_dim)] = nisa.tensor_copy(transposed)
        nisa.dma_copy(
            src=turned,
            dst=out[
                nl.ds((first_n + n) * tile_dim, tile_dim),
                nl.ds(first_m * tile_dim, block_m * tile_dim),
            ],
        )
