"""autocomp's attention, step 8: v transposed once, a bf16 copy of a row of scores, exp in tiles of
128 columns.

Source: ucb-bar/autocomp, examples/trn-tutorial/4_attention_trace.py, candidate 8, innermost first.
Written anew. q, k, v: [128, seqlen].
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

    def maximum_and_cache(self, i: Index) -> tuple[View, View]:
        """The row maximum, and the blocks of scores in bf16."""
        b = self.b
        cache = b.sbuf("qk_cache", [PARTITIONS, MOVING], "bfloat16", ring=self.blocks)
        partial = b.sbuf("row_max_kv", [PARTITIONS, self.blocks])

        def part(j: Index) -> None:
            scores = self.product(i, j)
            b.tensor_reduce(partial[:, block(j, 1)], scores, "max")
            b.tensor_copy(cache.turn(j), scores, engine="vector")

        b.loop(self.blocks, part)
        maximum = b.sbuf("row_max_cur", [PARTITIONS, 1])
        b.tensor_reduce(maximum, partial, "max")
        return maximum, cache

    def output(self, i: Index, maximum: View, cache: View) -> None:
        """Numerator and denominator, 128 columns at a time, and their quotient."""
        b = self.b
        sum_ = zeros(b, [PARTITIONS, PARTITIONS], "attn_out")
        sums = b.sbuf("sum_kv128", [PARTITIONS, self.tiles])
        b.memset(sums, 0.0)

        def part(j: Index) -> None:
            scores = cache.turn(j)
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


def attention(architecture: str, length: int, dtype: str) -> _core.Program:
    """seqlen a multiple of 512."""
    a = _Attention(architecture, length, dtype)
    a.b.loop(a.tiles, lambda i: a.output(i, *a.maximum_and_cache(i)))
    return a.b.finish()
