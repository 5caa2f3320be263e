"""softmax(q.T @ k) @ v.T with and without intermediates in HBM.

Source of the measurements: allenkchau/trainium-kernel-fusion, kernels/baseline/attention.py and
kernels/fused/attention.py (read there, written anew here). q, k, v: [128, seqlen], out:
[seqlen, 128]; seqlen a multiple of 512. Everything between the inputs and the output is fp32.
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
    """Shared by both kernels: arguments, loads and the parts of a row of q tiles."""

    def __init__(self, name: str, architecture: str, length: int, dtype: str) -> None:
        self.b = Builder(name, architecture)
        self.length = length
        self.blocks = length // MOVING
        self.tiles = length // PARTITIONS
        inputs = [self.b.argument(label, [PARTITIONS, length], dtype) for label in "qkv"]
        self.out = self.b.argument("out", [length, PARTITIONS], dtype)
        self.q, self.k, self.v = (load(self.b, x) for x in inputs)

    def row(self, label: str) -> View:
        """A row of scores: [128, seqlen]."""
        return self.b.sbuf(label, [PARTITIONS, self.length])

    def scores(self, i: Index) -> View:
        """q[:, tile i].T @ k, one product and one copy per 512 columns."""
        scores = self.row("qk")

        def part(j: Index) -> None:
            sum_ = self.b.psum("qk_psum", [PARTITIONS, MOVING])
            self.b.nc_matmul(sum_, self.q[:, block(i, PARTITIONS)], self.k[:, block(j, MOVING)])
            self.b.tensor_copy(scores[:, block(j, MOVING)], sum_)

        self.b.loop(self.blocks, part)
        return scores

    def softmax(self, scores: View) -> tuple[View, View]:
        """exp(scores - row maximum) and 1 / row sum."""
        b = self.b
        partial = b.sbuf("partial_max", [PARTITIONS, self.blocks])
        b.loop(
            self.blocks,
            lambda j: b.tensor_reduce(partial[:, block(j, 1)], scores[:, block(j, MOVING)], "max"),
        )
        negative = b.sbuf("negative_max", [PARTITIONS, 1])
        b.tensor_reduce(negative, partial, "max", negate=True)
        exponential = self.row("exp")
        sums = b.sbuf("sum_chunks", [PARTITIONS, self.blocks])

        def part(j: Index) -> None:
            columns = block(j, MOVING)
            b.activation(exponential[:, columns], "exp", scores[:, columns], bias=negative)
            b.tensor_reduce(sums[:, block(j, 1)], exponential[:, columns], "add")

        b.loop(self.blocks, part)
        total = b.sbuf("row_sum", [PARTITIONS, 1])
        b.tensor_reduce(total, sums, "add")
        inverse = b.sbuf("inverse_sum", [PARTITIONS, 1])
        b.reciprocal(inverse, total)
        return exponential, inverse

    def transposed_blocks(self, data: View, label: str) -> View:
        """[128, seqlen] to [128, seqlen / 128, 128]: every 128 x 128 block transposed, fp32."""
        result = self.b.sbuf(label, [PARTITIONS, self.tiles, PARTITIONS])

        def part(j: Index) -> None:
            turned = transposed(self.b, data[:, block(j, PARTITIONS)])
            self.b.tensor_copy(_block_of(result, j), turned)

        self.b.loop(self.tiles, part)
        return result

    def weighted(self, weights: View, values: View) -> View:
        """weights.T @ values accumulated over the key tiles: [128, 128] in PSUM."""
        sum_ = zeros(self.b, [PARTITIONS, PARTITIONS], "attn_psum")
        accumulate(
            self.b, sum_, self.tiles, lambda j: (_block_of(weights, j), _block_of(values, j))
        )
        return sum_


def _block_of(tile: View, j: Index) -> View:
    """Block j of a [128, blocks, 128] tile as [128, 128]."""
    return tile[:, block(j, 1), :].merge(1)


def baseline(architecture: str, length: int, dtype: str) -> _core.Program:
    """Three phases; scores and weights go through HBM."""
    a = _Attention("baseline_attention", architecture, length, dtype)
    b = a.b
    hbm = b.scratch("scores", [a.tiles, PARTITIONS, length])
    b.loop(a.tiles, lambda i: store(b, hbm[i], a.scores(i)))

    def softmax(i: Index) -> None:
        exponential, inverse = a.softmax(load(b, hbm[i]))
        weights = a.row("weights")

        def scale(j: Index) -> None:
            columns = block(j, MOVING)
            b.tensor_scalar(
                weights[:, columns], exponential[:, columns], "multiply", inverse, engine="vector"
            )

        b.loop(a.blocks, scale)
        store(b, hbm[i], weights)

    b.loop(a.tiles, softmax)
    values = a.transposed_blocks(a.v, "v_t")

    def output(i: Index) -> None:
        weights = a.transposed_blocks(load(b, hbm[i]), "p_t")
        result = copied(b, a.weighted(weights, values))
        store(b, a.out[block(i, PARTITIONS), :], result)

    b.loop(a.tiles, output)
    return b.finish()


def fused(architecture: str, length: int, dtype: str) -> _core.Program:
    """One loop over the tiles of q; nothing but the result goes to HBM."""
    a = _Attention("fused_attention", architecture, length, dtype)
    b = a.b
    values = a.transposed_blocks(a.v, "v_t")

    def tile(i: Index) -> None:
        exponential, inverse = a.softmax(a.scores(i))
        weights = a.transposed_blocks(exponential, "scores_t")
        result = b.sbuf("attn_out", [PARTITIONS, PARTITIONS])
        b.tensor_scalar(result, a.weighted(weights, values), "multiply", inverse, engine="vector")
        store(b, a.out[block(i, PARTITIONS), :], result)

    b.loop(a.tiles, tile)
    return b.finish()
