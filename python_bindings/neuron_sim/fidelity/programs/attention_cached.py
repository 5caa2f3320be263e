"""autocomp's attention, steps 8 to 10: v transposed once, exp in tiles of 128 columns.

Source: ucb-bar/autocomp, examples/trn-tutorial/4_attention_trace.py, candidates 8 to 10, innermost
first. Written anew. q, k, v: [128, seqlen]. Step 8 keeps a bf16 copy of a row of scores, step 9
computes the scores twice, step 10 takes the maxima of the first tile of q for all of them.
"""

from __future__ import annotations

from neuron_sim import _core
from neuron_sim.fidelity.language import (
    MOVING,
    PARTITIONS,
    Builder,
    Index,
    View,
    block,
    copied,
    load,
    store,
    transposed,
    zeros,
)

SUBTILES = MOVING // PARTITIONS


class _Attention:
    def __init__(self, architecture: str, length: int, dtype: str) -> None:
        self.b = Builder("attention_cached", architecture)
        self.dtype = dtype
        self.blocks, self.tiles = length // MOVING, length // PARTITIONS
        q, k, v = (self.b.argument(label, [PARTITIONS, length], dtype) for label in "qkv")
        self.out = self.b.argument("out", [length, PARTITIONS], dtype)
        self.q, self.k = load(self.b, q), load(self.b, k)
        self.values = self.b.sbuf("vT_sbuf", [PARTITIONS, PARTITIONS], "bfloat16", ring=self.tiles)

        def turn(j: Index) -> None:
            tile = load(self.b, v[:, block(j, PARTITIONS)])
            self.b.tensor_copy(self.values.turn(j), transposed(self.b, tile))

        self.b.loop(self.tiles, turn)

    def product(self, i: Index, j: Index) -> View:
        sum_ = self.b.psum("qk_psum", [PARTITIONS, MOVING])
        self.b.nc_matmul(sum_, self.q[:, block(i, PARTITIONS)], self.k[:, block(j, MOVING)])
        return sum_

    def maximum_and_cache(self, i: Index, cached: bool) -> tuple[View, View | None]:
        """The row maximum, and the blocks of scores in bf16."""
        b = self.b
        cache = None
        if cached:
            cache = b.sbuf("qk_cache", [PARTITIONS, MOVING], "bfloat16", ring=self.blocks)
        partial = b.sbuf("row_max_kv", [PARTITIONS, self.blocks])

        def part(j: Index) -> None:
            scores = self.product(i, j)
            b.tensor_reduce(partial[:, block(j, 1)], scores, "max")
            if cache is not None:
                b.tensor_copy(cache.turn(j), scores, engine="vector")

        b.loop(self.blocks, part)
        maximum = b.sbuf("row_max_cur", [PARTITIONS, 1])
        b.tensor_reduce(maximum, partial, "max")
        return maximum, cache

    def first_maximum(self) -> View:
        """Running maximum over the blocks of the first tile of q."""
        b = self.b
        maximum = b.sbuf("row_max_cur", [PARTITIONS, 1])
        b.memset(maximum, -1e38)

        def part(j: Index) -> None:
            found = b.sbuf("blk_max", [PARTITIONS, 1])
            b.tensor_reduce(found, self.product(0, j), "max")
            b.tensor_tensor(maximum, maximum, found, "max")

        b.loop(self.blocks, part)
        return maximum

    def output(self, i: Index, maximum: View, cache: View | None) -> None:
        """Numerator and denominator, 128 columns at a time, and their quotient."""
        b = self.b
        sum_ = zeros(b, [PARTITIONS, PARTITIONS], "attn_out")
        sums = b.sbuf("sum_kv128", [PARTITIONS, self.tiles])
        b.memset(sums, 0.0)

        def part(j: Index) -> None:
            scores = self.product(i, j) if cache is None else cache.turn(j)
            b.loop(SUBTILES, lambda t: self.tile(j * SUBTILES + t, scores, t, maximum, sums, sum_))

        b.loop(self.blocks, part)
        total = b.sbuf("sum_row_cur", [PARTITIONS, 1])
        b.tensor_reduce(total, sums, "add")
        inverse = b.sbuf("inv_sum", [PARTITIONS, 1])
        b.reciprocal(inverse, total)
        b.tensor_scalar(sum_, sum_, "multiply", inverse, engine="vector")
        store(b, self.out[block(i, PARTITIONS), :], copied(b, sum_, self.dtype))

    def tile(
        self, column: Index, scores: View, t: Index, maximum: View, sums: View, sum_: View
    ) -> None:
        b = self.b
        negative = b.sbuf("negative", [PARTITIONS, 1])
        b.tensor_scalar(negative, maximum, "multiply", -1.0)
        exp = b.sbuf("exp_sub", [PARTITIONS, PARTITIONS], "bfloat16")
        b.activation(exp, "exp", scores[:, block(t, PARTITIONS)], bias=negative)
        b.tensor_reduce(sums[:, block(column, 1)], exp, "add")
        weights = copied(b, transposed(b, exp), "bfloat16")
        b.nc_matmul(sum_, weights, self.values.turn(column), accumulate=True)


def attention(architecture: str, length: int, dtype: str, step: int) -> _core.Program:
    """seqlen a multiple of 512; step 8, 9 or 10."""
    a = _Attention(architecture, length, dtype)
    if step == 10:
        maximum = a.first_maximum()
        a.b.loop(a.tiles, lambda i: a.output(i, maximum, None))
    else:

        def tile(i: Index) -> None:
            maximum, cache = a.maximum_and_cache(i, cached=step == 8)
            a.output(i, maximum, cache)

        a.b.loop(a.tiles, tile)
    return a.b.finish()
