"""autocomp's self attention for small heads, steps 0 and 4 (AWS fused_self_attn_for_SD).

Source: ucb-bar/autocomp, examples/trn-tutorial/5_sd_attention_trace.py, candidates 0 and 4,
innermost first. Written anew. q, k, v: [seqlen, head], head at most 128; softmax(0.125 q k.T) v.

Transposing loads and stores are done by the Tensor engine here: element by element, as the
access patterns say, the DMA would need several times the measured total (assumption).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from neuron_sim import _core
from neuron_sim.fidelity.language import (
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

OPERANDS = "bfloat16"
"""Dtype of the operands of the products (mixed precision)."""
SCALE = 0.125


@dataclass(frozen=True)
class Step:
    """The settings of a candidate."""

    merged_loads: tuple[str, ...] = ("v", "q", "k")
    """Loops of loads, in order; letters together are one loop."""
    scores_dtype: str | None = None
    """None: the inputs' dtype."""
    fused_sum: bool = True
    cast_weights: bool = False
    """exp in the inputs' dtype, then a copy to the operands' dtype."""


STEPS = {0: Step(fused_sum=False, cast_weights=True), 4: Step(("vqk",), OPERANDS)}


class _Attention:
    def __init__(self, architecture: str, length: int, head: int, dtype: str, step: Step) -> None:
        self.b = Builder("attention_small_head", architecture)
        self.step, self.dtype, self.head = step, dtype, head
        self.length, self.tiles = length, length // PARTITIONS
        self.inputs = {x: self.b.argument(x, [length, head], dtype) for x in "qkv"}
        self.out = self.b.argument("out", [length, head], dtype)
        v_shape, q_shape = [PARTITIONS, self.tiles, head], [head, self.tiles, PARTITIONS]
        shapes = {"v": v_shape, "q": q_shape, "k": q_shape}
        self.local = {x: self.b.sbuf(x, shapes[x], OPERANDS) for x in "vqk"}
        for letters in step.merged_loads:
            self.b.loop(self.tiles, partial(self.load_all, letters))

    def load_all(self, names: str, i: Index) -> None:
        for name in names:
            self.load(name, i)

    def load(self, name: str, i: Index) -> None:
        """Rows block i: v unchanged, q and k transposed, q scaled."""
        source = self.inputs[name][block(i, PARTITIONS), :]
        target = self.local[name][:, block(i, 1), :].merge(1)
        if name == "v":
            self.b.dma_copy(target, source)
            return
        by_columns = transposed(self.b, load(self.b, source, OPERANDS))
        if name == "q":
            self.b.tensor_scalar(target, by_columns, "multiply", SCALE)
        else:
            self.b.tensor_copy(target, by_columns)

    def tile(self, name: str, i: Index) -> View:
        return self.local[name][:, block(i, 1), :].merge(1)

    def row(self, label: str, dtype: str) -> View:
        return self.b.sbuf(label, [PARTITIONS, self.length], dtype)

    def column(self, label: str) -> View:
        return self.b.sbuf(label, [PARTITIONS, 1], self.dtype)

    def scores(self, i: Index) -> tuple[View, View]:
        """A row of scores and the negative of its maximum."""
        b = self.b
        scores = self.row("qk_res_buf", self.step.scores_dtype or self.dtype)
        maxima = b.sbuf("neg_max_res", [PARTITIONS, self.tiles], self.dtype)

        def part(j: Index) -> None:
            sum_ = zeros(b, [PARTITIONS, PARTITIONS], "qk_psum")
            b.nc_matmul(sum_, self.tile("q", i), self.tile("k", j), accumulate=True)
            columns = scores[:, block(j, PARTITIONS)]
            b.tensor_copy(columns, sum_)
            b.tensor_reduce(maxima[:, block(j, 1)], columns, "max", negate=True)

        b.loop(self.tiles, part)
        negative = self.column("neg_max_res_final")
        b.tensor_reduce(negative, maxima, "min")
        return scores, negative

    def weights(self, scores: View, negative: View) -> tuple[View, View]:
        """exp(scores - maximum) in the operands' dtype, and 1 / row sum."""
        b, step = self.b, self.step
        exp = self.row("exp_res", self.dtype if step.cast_weights else OPERANDS)
        total = self.column("sum_res")
        if step.fused_sum:
            b.memset(total, 0.0)
            b.activation_reduce(exp, "exp", scores, "add", total, bias=negative)
        else:
            b.activation(exp, "exp", scores, bias=negative)
            b.tensor_reduce(total, exp, "add")
        if step.cast_weights:
            exp = copied(b, exp, OPERANDS)
        inverse = self.column("sum_reciprocal")
        b.reciprocal(inverse, total)
        return exp, inverse

    def turned_weights(self, weights: View) -> View:
        result = self.b.sbuf("trans_softmax_res", [PARTITIONS, self.tiles, PARTITIONS], OPERANDS)

        def part(j: Index) -> None:
            turned = transposed(self.b, weights[:, block(j, PARTITIONS)])
            self.b.tensor_copy(result[:, block(j, 1), :].merge(1), turned)

        self.b.loop(self.tiles, part)
        return result

    def output(self, i: Index) -> None:
        """One tile of 128 rows."""
        b = self.b
        weights, inverse = self.weights(*self.scores(i))
        rows = self.out[block(i, PARTITIONS), :]
        divisor = b.sbuf("sum_divisor", [PARTITIONS, self.head], self.dtype)
        b.tensor_copy(divisor, inverse.broadcast(1, self.head))
        result = self.transposed_sum(self.turned_weights(weights), divisor)
        store(b, rows, copied(b, transposed(b, result), self.dtype))

    def transposed_sum(self, turned: View, divisor: View) -> View:
        """[head, 128]: values.T @ weights.T times the transposed divisor."""
        b = self.b
        sum_ = zeros(b, [self.head, PARTITIONS], "attn_res_psum")
        accumulate(
            b,
            sum_,
            self.tiles,
            lambda j: (self.tile("v", j), turned[:, block(j, 1), :].merge(1)),
        )
        copy = copied(b, sum_, self.dtype)
        result = b.sbuf("attn_res_div", [self.head, PARTITIONS], self.dtype)
        b.tensor_tensor(result, copy, transposed(b, divisor), "multiply")
        return result


def attention(architecture: str, length: int, head: int, dtype: str, step: Step) -> _core.Program:
    """seqlen a multiple of 128."""
    a = _Attention(architecture, length, head, dtype, step)
    a.b.loop(a.tiles, a.output)
    return a.b.finish()
