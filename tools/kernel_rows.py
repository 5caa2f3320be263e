"""Rows of docs/kernels.md: what is timed, and why it takes the time it takes. Here the kernels of
linear algebra, in layer_rows.py those of networks.

A new kernel or variant is one more Row. `why` is about causes; numbers are simulated and added by
write_kernel_docs.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One line of the table and one section."""

    kernel: str
    """Its name in neuron_sim._core."""
    variant: str
    """What tells it from the kernel's other rows."""
    shapes: list[list[int]]
    why: str
    dtype: str = "float32"
    options: Mapping[str, int | str] = field(default_factory=dict)


def _vector(elements: int) -> list[list[int]]:
    return [[elements], [elements]]


_SQUARE = [[2048, 2048], [2048, 2048]]

VECTOR_ADD = [
    Row(
        "vector_add",
        "naive",
        _vector(128),
        "One tile of [128, 1]: two loads, one addition, one store, each waiting for the one "
        "before. Nothing overlaps; the time is that of the fixed costs of a DMA, there and back. "
        "More than 128 elements are more partitions than there are, an error.",
        options={"variant": "naive"},
    ),
    Row(
        "vector_add",
        "tiled, row_chunk=1",
        _vector(25600),
        "One element at a time: 25,600 times the fixed costs of two loads, an addition and a "
        "store. A ring of eight tiles keeps several of them in flight; what is left is how fast "
        "transfers are triggered (hardware descriptors: by the Sync and Scalar engines; "
        "generation 2: by static rings, which are cheaper) and completed. 127 of 128 lanes of "
        "Vector idle.",
        options={"variant": "tiled", "row_chunk": 1},
    ),
    Row(
        "vector_add",
        "tiled, row_chunk=128",
        _vector(25600),
        "All 128 partitions, one element each: a 128th of the transfers. A descriptor still "
        "moves one element of four bytes, so the time goes into making and completing "
        "descriptors; next to none into bytes.",
        options={"variant": "tiled", "row_chunk": 128},
    ),
    Row(
        "vector_add",
        "stream, free_dim=200",
        _vector(25600),
        "One tile of [128, 200]: a descriptor moves a run of 800 bytes. With a single tile "
        "nothing overlaps; the fixed costs of load, addition and store are the time.",
        options={"variant": "stream", "free_dim": 200},
    ),
    Row(
        "vector_add",
        "stream, free_dim=2000",
        _vector(256000),
        "One tile again, ten times as large. The additions wait for both loads, the store for "
        "all additions: the DMA engines idle while Vector adds, and Vector while they move.",
        options={"variant": "stream", "free_dim": 2000},
    ),
    Row(
        "vector_add",
        "stream, free_dim=1000",
        _vector(256000),
        "Two tiles: the second is loaded while the first is added, and added while the first is "
        "stored. More transfers than with 2000, and yet less time, where moving the bytes leaves "
        "time to win: trn1, whose DMA engines are the slowest, is as fast either way.",
        options={"variant": "stream", "free_dim": 1000},
    ),
    Row(
        "vector_add",
        "stream",
        _vector(2560000),
        "Twenty tiles of [128, 1000] (chosen) through rings of three: loads, additions and "
        "stores of different tiles overlap, and the busiest unit sets the time.",
        options={"variant": "stream"},
    ),
    Row(
        "vector_add",
        "direct",
        _vector(2560000),
        "stream with tiles placed by hand: four physical tiles per tensor, one tensor after the "
        "other. The allocator does the same by itself, so the time is that of stream.",
        options={"variant": "direct", "free_dim": 1000},
    ),
    Row(
        "vector_add",
        "direct_bad",
        _vector(2560000),
        "direct with base addresses one tile apart: the three tensors share bytes. Tiles of one "
        "turn do not, so the sums are right, but a load into shared bytes waits until the turns "
        "before have added and stored what lies there, and less of loads, additions and stores "
        "overlaps. The handout's vector_add_direct_allocation_bad gives all three tensors "
        "address 0, where b overwrites a before it is added; that is refused.",
        options={"variant": "direct_bad", "free_dim": 1000},
    ),
]

MATMUL = [
    Row(
        "matmul",
        "tiled",
        _SQUARE,
        "Both tiles of every product of tiles are loaded for it, and a tile of `a` is a run of "
        "256 bytes per descriptor: TensorE waits for its operands. Where descriptors are made by "
        "hardware, triggering so many transfers alone keeps an engine busy most of the time.",
        "bfloat16",
        {"variant": "tiled", "transpose_x": 1},
    ),
    Row(
        "matmul",
        "hoist_load",
        _SQUARE,
        "A row tile of `a` is loaded once with all of K and stays for all columns; `b` is loaded "
        "again for each row tile, and that traffic is what is left to wait for.",
        "bfloat16",
        {"variant": "hoist_load", "transpose_x": 1},
    ),
    Row(
        "matmul",
        "block_free_dimension",
        _SQUARE,
        "Blocks of 256 x 1024: a load of `b` serves two row tiles, which halves its traffic; the "
        "next block is loaded while TensorE multiplies this one. All of K of a block must fit "
        "SBUF, else it streams by in panels.",
        "bfloat16",
        {"variant": "block_free_dimension", "transpose_x": 1},
    ),
    Row(
        "matmul",
        "fully_optimized",
        _SQUARE,
        "Blocks of 2048 x 1024 x 1024: the least traffic of the four and the longest runs, "
        "whatever the size of K. In exchange TensorE starts only when a large first block has "
        "arrived, and Vector adds up the sums of the blocks of K in SBUF. It gains the most "
        "where HBM is slow; on trn3 the block before it keeps TensorE busy already.",
        "bfloat16",
        {"variant": "fully_optimized", "transpose_x": 1},
    ),
    Row(
        "matmul",
        "auto",
        _SQUARE,
        "All of K of a panel of `b` stays in SBUF (here all of `b`), row tiles of `a` stream "
        "past it, and K accumulates in PSUM: each operand is read once. TensorE idles only until "
        "the first operands are there.",
        "bfloat16",
        {"transpose_x": 1},
    ),
    Row(
        "matmul",
        "auto, a as [M, K]",
        _SQUARE,
        "A row-major `a` is contiguous along K, which belongs on partitions: it is loaded by "
        "rows and transposed on chip (TensorE on generations 3 and 4, Vector on generation 2), "
        "work on top of the products.",
        "bfloat16",
    ),
    Row(
        "matmul",
        "auto, fp32",
        _SQUARE,
        "TensorE takes four passes per column of fp32, so the same operands keep it busy four "
        "times as long, and twice the bytes hide behind it.",
        "float32",
        {"transpose_x": 1},
    ),
]

TRANSPOSE = [
    Row(
        "transpose",
        engine,
        [[1024, 1024]],
        why,
        options={"engine": engine},
    )
    for engine, why in [
        (
            "tensor",
            "TensorE transposes 128 x 128 blocks into PSUM; Vector and Scalar copy a bank of "
            "them at a time to SBUF, while the DMA engines load and store runs. On generation 2 "
            "it is a product with an identity in fp32 passes.",
        ),
        (
            "vector",
            "32 x 32 blocks from SBUF to SBUF: sixteen instructions for what TensorE does in "
            "one, each with its fixed cost. Vector is busy throughout, the DMA engines wait for "
            "it.",
        ),
        (
            "dma",
            "No engine computes: dma_transpose exchanges rows and columns on the way to SBUF, at "
            "nearly the throughput of a copy, and the store moves whole rows. Generation 2 has "
            "no such mode: every element is moved by itself, and the DMA engines pay per element "
            "instead of per run.",
        ),
        (
            "auto",
            "tensor where its transpose is bit exact (generations 3 and 4), else vector.",
        ),
    ]
]

ROWS: list[Row] = [*VECTOR_ADD, *MATMUL, *TRANSPOSE]
