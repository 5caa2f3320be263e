"""Vector additions in the old NKI language, from one element per instruction to long tiles.

After the steps of Stanford CS149 assignment 4, part 1 (docs/coursework.md):

  neuron-sim run --arch trn1 models/nki/vector_add.py --size 256000
"""

import argparse

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def vector_add_rows(a_vec, b_vec, row_chunk=128):
    """`row_chunk` elements per instruction, one per partition. The size is a multiple of it."""
    out = nl.ndarray(a_vec.shape, dtype=a_vec.dtype, buffer=nl.hbm)
    for m in nl.affine_range(a_vec.shape[0] // row_chunk):
        rows = nl.ds(m * row_chunk, row_chunk)
        a = nl.load(a_vec[rows])
        b = nl.load(b_vec[rows])
        nl.store(out[rows], value=nl.add(a, b))
    return out


@nki.jit
def vector_add_tiles(a_vec, b_vec, free_dim=1000):
    """128 x free_dim elements per instruction. The size is a multiple of that."""
    tiles = a_vec.shape[0] // (128 * free_dim)
    shape = (tiles, 128, free_dim)
    a_tiles, b_tiles = a_vec.reshape(shape), b_vec.reshape(shape)
    out = nl.ndarray(shape, dtype=a_vec.dtype, buffer=nl.hbm)
    for m in nl.affine_range(tiles):
        a = nl.load(a_tiles[m])
        b = nl.load(b_tiles[m])
        nl.store(out[m], value=nl.add(a, b))
    return out.reshape(a_vec.shape)


@nki.jit
def vector_add_allocated(a_vec, b_vec, free_dim=1000, buffers=4):
    """As vector_add_tiles, with `buffers` physical tiles per tensor, manually placed."""
    tiles = a_vec.shape[0] // (128 * free_dim)
    shape = (tiles, 128, free_dim)
    a_tiles, b_tiles = a_vec.reshape(shape), b_vec.reshape(shape)
    out = nl.ndarray(shape, dtype=a_vec.dtype, buffer=nl.shared_hbm)
    size = buffers * free_dim * a_vec.itemsize

    a, b, total = (
        nl.ndarray(
            (tiles, nl.par_dim(128), free_dim),
            dtype=a_vec.dtype,
            buffer=ncc.sbuf.mod_alloc(base_addr=slot * size, num_free_tiles=(buffers,)),
        )
        for slot in range(3)
    )
    for m in nl.affine_range(tiles):
        a[m] = nl.load(a_tiles[m])
        b[m] = nl.load(b_tiles[m])
        total[m] = nisa.tensor_tensor(a[m], b[m], op=nl.add)
        nl.store(out[m], value=total[m])
    return out.reshape(a_vec.shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=256000)
    size = parser.parse_args().size
    a, b = (np.random.rand(size).astype(np.float32) for _ in range(2))
    for kernel in (vector_add_rows, vector_add_tiles, vector_add_allocated):
        assert np.allclose(nki.baremetal(kernel)(a, b), a + b)
        benchmarked = nki.benchmark(kernel)
        benchmarked(a, b)
        latency = benchmarked.benchmark_result.nc_latency.get_latency_percentile(99)
        print(f"{kernel.__name__}: {latency} us")


if __name__ == "__main__":
    main()
