"""autocomp's attention, step 0: every intermediate goes through HBM.

Source: ucb-bar/autocomp, examples/trn-tutorial/4_attention_trace.py, candidate 0, innermost first
(the AWS attention tutorial's first kernel). Written anew. q, k, v: [128, seqlen]; all
intermediates fp32. The source keeps q.T @ k of all tiles in PSUM, which has room for one tile of q
only: the loops that make and use it are fused here, as the compiler's loop fusion must.
"""

from __future__ import annotations

from neuron_sim import _core
from neuron_sim.fidelity.language import (
    MOVING,
    PARTITIONS,
    Builder,
    Index,
    View,
    accumulate,
    block,
    copied,
    load,
    store,
    transposed,
    zeros,
)


class _Attention:
    def __init__(self, architecture: str, length: int, dtype: str) -> None:
        self.b = Builder("attention_hbm", architecture)
        self.length = length
        self.blocks, self.tiles = length // MOVING, length // PARTITIONS
        inputs = [self.b.argument(label, [PARTITIONS, length], dtype) for label in "qkv"]
        self.out = self.b.argument("out", [length, PARTITIONS], dtype)
        self.q, self.k, self.v = (load(self.b, x) for x in inputs)
        self.norm = self.rows("norm_row")
        self.exp = self.rows("exp_row")
        self.scores = self.rows("scores")
        self.sums = self.b.sbuf("sum_row", [PARTITIONS, self.tiles])
        self.v_t = self.b.scratch("v_t", [self.tiles, PARTITIONS, PARTITIONS])
        shape = [self.tiles, self.tiles, PARTITIONS, PARTITIONS]
        self.scores_t = self.b.scratch("scores_t", shape)

    def rows(self, label: str) -> View:
        """A matrix of scores in HBM, one slice per tile of q."""
        return self.b.scratch(label, [self.tiles, PARTITIONS, self.length])

    def row(self, label: str) -> View:
        return self.b.sbuf(label, [PARTITIONS, self.length])

    def normalized(self, i: Index) -> None:
        """norm[i] = q.T @ k - row maximum."""
        b = self.b
        qk = b.psum("qk", [PARTITIONS, self.blocks, MOVING])
        part = lambda j: qk[:, block(j, 1), :].merge(1)  # noqa: E731
        stationary = self.q[:, block(i, PARTITIONS)]
        b.loop(self.blocks, lambda j: b.nc_matmul(part(j), stationary, self.k[:, block(j, MOVING)]))
        partial = b.sbuf("row_max_kv", [PARTITIONS, self.blocks])
        b.loop(self.blocks, lambda j: b.tensor_reduce(partial[:, block(j, 1)], part(j), "max"))
        maximum = b.sbuf("row_max", [PARTITIONS, 1])
        b.tensor_reduce(maximum, partial, "max")
        norm = self.row("norm_buf")

        def subtract(j: Index) -> None:
            columns = norm[:, block(j, MOVING)]
            b.tensor_scalar(columns, part(j), "subtract", maximum, engine="vector")

        b.loop(self.blocks, subtract)
        store(b, self.norm[i], norm)

    def exponential(self, i: Index) -> None:
        """exp[i] = exp(norm[i])."""
        norm, exp = load(self.b, self.norm[i]), self.row("exp_buf")
        self.b.activation(exp, "exp", norm)
        store(self.b, self.exp[i], exp)

    def sum(self, i: Index) -> None:
        self.b.tensor_reduce(self.sums[:, block(i, 1)], load(self.b, self.exp[i]), "add")

    def scale(self, i: Index, inverse: View) -> None:
        """scores[i] = exp[i] / row sum."""
        exp, scores = load(self.b, self.exp[i]), self.row("scores_buf")
        factor = inverse[:, block(i, 1)]
        self.b.tensor_scalar(scores, exp, "multiply", factor, engine="vector")
        store(self.b, self.scores[i], scores)

    def turn_values(self, j: Index) -> None:
        turned = transposed(self.b, self.v[:, block(j, PARTITIONS)])
        store(self.b, self.v_t[j], copied(self.b, turned, "float32"))

    def turn_scores(self, i: Index, j: Index) -> None:
        tile = load(self.b, self.scores[i][:, block(j, PARTITIONS)])
        store(self.b, self.scores_t[j, i], copied(self.b, transposed(self.b, tile)))

    def output(self, i: Index) -> None:
        sum_ = zeros(self.b, [PARTITIONS, PARTITIONS])
        accumulate(
            self.b,
            sum_,
            self.tiles,
            lambda j: (load(self.b, self.scores_t[j, i]), load(self.b, self.v_t[j])),
        )
        store(self.b, self.out[block(i, PARTITIONS), :], copied(self.b, sum_))


def attention(architecture: str, length: int, dtype: str) -> _core.Program:
    """seqlen a multiple of 512."""
    a = _Attention(architecture, length, dtype)
    b, tiles = a.b, a.tiles
    b.loop(tiles, a.normalized)
    b.loop(tiles, a.exponential)
    b.loop(tiles, a.sum)
    inverse = b.sbuf("inverse_sum_row", [PARTITIONS, tiles])
    b.reciprocal(inverse, a.sums)
    b.loop(tiles, lambda i: a.scale(i, inverse))
    b.loop(tiles, a.turn_values)
    b.loop(tiles, lambda i: b.loop(tiles, lambda j: a.turn_scores(i, j)))
    b.loop(tiles, a.output)
    return b.finish()
