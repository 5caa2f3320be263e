"""A feed-forward network with one hidden layer, in the old NKI language.

The directed portion of Berkeley's CS152 lab 6: this file in place of nki_ffnn/kernels.py, with
transpose.py next to it, see docs/coursework.md.

Every layer is a product, a bias and an activation; layers meet in HBM. All sizes are multiples of
128, those of hidden and output layers of 512.
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np
from transpose import matrix_transpose as nki_transpose

SHARED_LOADS = {"tiled": 1, "hoist_load": 2, "block_free_dimension": 2, "fully_optimized": 4}
"""Tiles of 128 rows of the left operand that share each load of the right one."""


@nki.jit
def nki_matmul(lhsT, rhs, row_tiles):
    """lhsT [K, M] transposed times rhs [K, N]: [M, N]. M is a multiple of 128 x row_tiles."""
    K, M = lhsT.shape
    _, N = rhs.shape
    partitions, columns = nl.tile_size.pmax, nl.tile_size.gemm_moving_fmax
    result = nl.ndarray((M, N), dtype=lhsT.dtype, buffer=nl.hbm)
    rows = partitions * row_tiles
    for m in nl.affine_range(M // rows):
        left = nl.ndarray(
            (nl.par_dim(partitions), K // partitions, rows), dtype=lhsT.dtype, buffer=nl.sbuf
        )
        for k in nl.affine_range(K // partitions):
            left[:, k] = nl.load(lhsT[nl.ds(k * partitions, partitions), nl.ds(m * rows, rows)])
        for n in nl.affine_range(N // columns):
            totals = [
                nl.zeros((nl.par_dim(partitions), columns), dtype=nl.float32, buffer=nl.psum)
                for _ in range(row_tiles)
            ]
            for k in nl.affine_range(K // partitions):
                right = nl.load(rhs[nl.ds(k * partitions, partitions), nl.ds(n * columns, columns)])
                for r in range(row_tiles):
                    totals[r] += nisa.nc_matmul(
                        left[:, k, r * partitions : (r + 1) * partitions], right
                    )
            for r in range(row_tiles):
                nl.store(
                    result[
                        nl.ds(m * rows + r * partitions, partitions), nl.ds(n * columns, columns)
                    ],
                    value=nisa.tensor_copy(totals[r], dtype=result.dtype),
                )
    return result


@nki.jit
def nki_bias_add_act(A, b, act="relu"):
    """act(A + b) for A [batch, features] and b [1, features]; act is relu or softmax (per row)."""
    batch, features = A.shape
    partitions = nl.tile_size.pmax
    result = nl.ndarray((batch, features), dtype=A.dtype, buffer=nl.hbm)
    bias = nl.broadcast_to(nl.load(b), shape=(partitions, features))
    for t in nl.affine_range(batch // partitions):
        rows = nl.ds(t * partitions, partitions)
        biased = nisa.tensor_tensor(nl.load(A[rows]), bias, op=nl.add)
        if act == "relu":
            activated = nisa.activation(nl.relu, biased)
        elif act == "softmax":
            activated = softmax(biased)
        else:
            raise ValueError(f"Unsupported activation: {act}")
        nl.store(result[rows], value=activated)
    return result


def softmax(x):
    """Softmax of each row of a tile; the largest element becomes 1 before the division."""
    negative_largest = nisa.tensor_reduce(nl.max, x, axis=[1], negate=True)
    exponentials = nisa.activation(nl.exp, x, bias=negative_largest)
    sums = nisa.tensor_reduce(nl.add, exponentials, axis=[1])
    return nisa.tensor_scalar(exponentials, nl.multiply, nisa.reciprocal(sums))


@nki.jit
def nki_forward(X, W1, b1, W2, b2, matmul_kernel="tiled"):
    """Probabilities [batch, outputs] of X [batch, inputs]; weights [in, out], biases [1, out]."""
    if matmul_kernel not in SHARED_LOADS:
        raise ValueError(f"Unsupported matmul kernel: {matmul_kernel}")
    row_tiles = SHARED_LOADS[matmul_kernel]
    hidden = nki_bias_add_act(nki_matmul(nki_transpose(X), W1, row_tiles), b1, act="relu")
    return nki_bias_add_act(nki_matmul(nki_transpose(hidden), W2, row_tiles), b2, act="softmax")


@nki.jit
def nki_predict(X, W1, b1, W2, b2, matmul_kernel="tiled"):
    """The most probable class of each row of X: int32 [batch]."""
    probs = nki_forward(X, W1, b1, W2, b2, matmul_kernel)
    batch, _ = probs.shape
    partitions = nl.tile_size.pmax
    predictions = nl.ndarray((batch,), dtype=np.int32, buffer=nl.hbm)
    for t in nl.affine_range(batch // partitions):
        rows = nl.ds(t * partitions, partitions)
        tile = nl.load(probs[rows])
        classes = nisa.nc_find_index8(data=tile, vals=nisa.max8(src=tile))
        nl.store(predictions[rows], value=nl.copy(classes[:, 0:1], dtype=np.int32))
    return predictions
