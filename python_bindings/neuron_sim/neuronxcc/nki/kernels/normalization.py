"""neuronxcc.nki.kernels: an RMS norm and the product after it."""

import numpy as np

from .. import isa as nisa
from .. import language as nl
from ..kernel import jit
from .softmax import check, width


@jit
def allocated_fused_rms_norm_qkv(hidden, weights, norm_dtype=nl.float32, eps=1e-6):
    """hidden / sqrt(mean(hidden^2) + eps) @ weights.

    hidden: (batch, sequence, dim) of fp16 or bf16, dim a multiple of 128; weights: (dim, columns),
    up to 512 columns, times the norm's gamma. norm_dtype: of the norm, fp32. The vendor places its
    tiles by hand, the simulator these automatically. Returns (batch, sequence, columns).
    """
    batch, length, dim = hidden.shape
    columns, rows = weights.shape[1], nl.tile_size.pmax
    check(weights.shape[0] == dim, f"weights {weights.shape} do not match hidden {hidden.shape}")
    check(dim % rows == 0, f"need dim to be divisible by {rows} but got {dim}")
    check(columns <= width(), f"head dim must be at most {width()}, got {columns}")
    out = nl.ndarray((batch, length, columns), dtype=hidden.dtype, buffer=nl.shared_hbm)
    loaded = nl.ndarray((rows, dim // rows, columns), dtype=weights.dtype, buffer=nl.sbuf)
    for c in range(dim // rows):
        loaded[:, c, :] = nl.load(weights[nl.ds(c * rows, rows), :])
    for b in range(batch):
        for first in range(0, length, rows):
            count = min(rows, length - first)
            part = nl.ds(first, count)
            tile = nl.load(hidden[b, part, :])
            squares = nl.ndarray((count, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation_reduce(np.square, tile, reduce_op=np.add, reduce_res=squares).settle()
            mean = nisa.tensor_scalar(squares, np.multiply, 1.0 / dim, op1=np.add, operand1=eps)
            normal = nl.multiply(tile, nl.rsqrt(mean, dtype=norm_dtype), dtype=hidden.dtype)
            product = nl.zeros((count, columns), dtype=nl.float32, buffer=nl.psum)
            for c in range(dim // rows):
                turned = nl.copy(nisa.nc_transpose(normal[:, nl.ds(c * rows, rows)]))
                product += nisa.nc_matmul(turned, loaded[:, c, :])
            nl.store(out[b, part, :], nl.copy(product, dtype=hidden.dtype))
    return out
