"""autocomp's attention, steps 2 and 4: three passes over the scores, all on chip.

Source: ucb-bar/autocomp, examples/trn-tutorial/4_attention_trace.py, candidates 2 and 4,
innermost first. Written anew. q, k, v: [128, seqlen]. Pass A finds the row maxima, B the row sums
of exp, C the weighted values. In step 4 every pass computes q.T @ k again. Step 2 keeps it in PSUM
for all three, which has no room for it: here it is computed once per tile of q and kept in SBUF,
with the loops of the three passes fused (assumption).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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

Scores = Callable[[Index], View]


@dataclass(frozen=True)
class Step:
    """The settings of a candidate."""

    cached: bool = False
    """q.T @ k of a tile of q is computed once."""
    dtype: str = "bfloat16"
    """The dtype of exp, of the weights and of the operands of the second product."""


STEPS = {2: Step(cached=True, dtype="float32"), 4: Step()}


class _Attention:
    def __init__(self, architecture: str, length: int, dtype: str, step: Step) -> None:
        self.b = Builder("attention_passes", architecture)
        self.step = step
        self.length, self.dtype = length, dtype
        self.blocks, self.tiles = length // MOVING, length // PARTITIONS
        inputs = [self.b.argument(label, [PARTITIONS, length], dtype) for label in "qkv"]
        self.out = self.b.argument("out", [length, PARTITIONS], dtype)
        self.q, self.k, self.v = (load(self.b, x) for x in inputs)

    def product(self, i: Index, j: Index) -> View:
        """Block j of q.T @ k for tile i of q, in PSUM."""
        sum_ = self.b.psum("qk_blk", [PARTITIONS, MOVING])
        self.b.nc_matmul(sum_, self.q[:, block(i, PARTITIONS)], self.k[:, block(j, MOVING)])
        return sum_

    def cached_scores(self, i: Index) -> Scores:
        """The blocks of a row of scores that stays in SBUF."""
        row = self.b.sbuf("qk", [PARTITIONS, self.length])
        self.b.loop(
            self.blocks, lambda j: self.b.tensor_copy(row[:, block(j, MOVING)], self.product(i, j))
        )
        return lambda j: row[:, block(j, MOVING)]

    def negative(self, tile: View) -> View:
        """nl.negative of a [128, 1] tile."""
        result = self.b.sbuf("negative", [PARTITIONS, 1])
        self.b.tensor_scalar(result, tile, "multiply", -1.0)
        return result

    def row_maximum(self, scores: Scores, target: View) -> None:
        """Pass A: a running maximum from block to block, or one over the blocks' maxima."""
        b = self.b
        if self.step.cached:
            partial = b.sbuf("tmp", [PARTITIONS, self.blocks])
            b.loop(
                self.blocks, lambda j: b.tensor_reduce(partial[:, block(j, 1)], scores(j), "max")
            )
            b.tensor_reduce(target, partial, "max")
            return
        running = b.sbuf("m_vec", [PARTITIONS, 1])
        b.tensor_reduce(running, scores(0), "max")

        def part(j: Index) -> None:
            maximum = b.sbuf("m_blk", [PARTITIONS, 1])
            b.tensor_reduce(maximum, scores(j + 1), "max")
            b.tensor_tensor(running, running, maximum, "max")

        b.loop(self.blocks - 1, part)
        b.tensor_copy(target, running)

    def row_sum(self, scores: Scores, maximum: View, target: View) -> None:
        """Pass B, block by block: target is zeroed beforehand."""
        b = self.b
        negative = self.negative(maximum)

        def part(j: Index) -> None:
            exp = b.sbuf("e_blk", [PARTITIONS, MOVING], self.step.dtype)
            b.activation(exp, "exp", scores(j), bias=negative)
            partial = b.sbuf("s", [PARTITIONS, 1])
            b.tensor_reduce(partial, exp, "add")
            b.tensor_tensor(target, target, partial, "add")

        b.loop(self.blocks, part)

    def weighted(self, scores: Scores, maximum: View, inverse: View) -> View:
        """Pass C: softmax @ v.T in PSUM; every tile of v is transposed again."""
        b, dtype = self.b, self.step.dtype
        sum_ = zeros(b, [PARTITIONS, PARTITIONS], "acc")

        def part(j: Index) -> None:
            exp = b.sbuf("e_blk", [PARTITIONS, MOVING], dtype)
            b.activation(exp, "exp", scores(j), bias=self.negative(maximum))
            norm = b.sbuf("norm", [PARTITIONS, MOVING], dtype)
            b.tensor_scalar(norm, exp, "multiply", inverse, engine="vector")

            def tile(t: Index) -> None:
                weights = copied(b, transposed(b, norm[:, block(t, PARTITIONS)]), dtype)
                column = j * (MOVING // PARTITIONS) + t
                value = self.v[:, block(column, PARTITIONS)]
                b.nc_matmul(sum_, weights, copied(b, transposed(b, value), dtype), accumulate=True)

            b.loop(MOVING // PARTITIONS, tile)

        b.loop(self.blocks, part)
        return sum_

    def finish_tile(self, i: Index, sum_: View) -> None:
        """PSUM to HBM; the fp32 steps cast in a second copy."""
        result = copied(self.b, sum_, self.step.dtype)
        if self.step.dtype == "float32":
            result = copied(self.b, result, self.dtype)
        store(self.b, self.out[block(i, PARTITIONS), :], result)


def attention(architecture: str, length: int, dtype: str, step: Step) -> _core.Program:
    """seqlen a multiple of 512."""
    a = _Attention(architecture, length, dtype, step)
    b = a.b
    maxima = b.sbuf("row_max", [PARTITIONS, a.tiles])
    sums = b.sbuf("sum_row", [PARTITIONS, a.tiles])
    b.memset(sums, 0.0)
    inverses = b.sbuf("inv_sum", [PARTITIONS, a.tiles])

    def column(tile: View, i: Index) -> View:
        return tile[:, block(i, 1)]

    def scores(i: Index) -> Scores:
        return a.cached_scores(i) if step.cached else lambda j: a.product(i, j)

    def maximum(i: Index, row: Scores) -> None:
        a.row_maximum(row, column(maxima, i))

    def total(i: Index, row: Scores) -> None:
        a.row_sum(row, column(maxima, i), column(sums, i))

    def output(i: Index, row: Scores) -> None:
        a.finish_tile(i, a.weighted(row, column(maxima, i), column(inverses, i)))

    if step.cached:

        def tile(i: Index) -> None:
            row = scores(i)
            maximum(i, row)
            total(i, row)
            b.reciprocal(column(inverses, i), column(sums, i))
            output(i, row)

        b.loop(a.tiles, tile)
    else:
        b.loop(a.tiles, lambda i: maximum(i, scores(i)))
        b.loop(a.tiles, lambda i: total(i, scores(i)))
        b.reciprocal(inverses, sums)
        b.loop(a.tiles, lambda i: output(i, scores(i)))
    return b.finish()
