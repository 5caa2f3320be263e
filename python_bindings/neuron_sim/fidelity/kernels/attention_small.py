"""Attention of one tile, variants V0 to V4.

The source is not public under a known name; this is its description: q, k and v of [seq, dim] are
transposed by the Tensor engine where the products need it (7 matmul instructions in fp32: three
transposes, two halves of each product; 6 with the second product in bf16), softmax over the row,
one tile out. V1 takes the row sum out of the Scalar engine's exp (its Vector time is shorter, its
Scalar time longer than V0's; assumption), V2 is V1 with bf16 weights and values, V3 is V1 with
hardware descriptors, V4 is V2 with them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from neuron_sim import _core
from neuron_sim.fidelity.case import Case, Launch, total
from neuron_sim.fidelity.language import Builder, View, copied, transposed
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.sizes import pair_of
from neuron_sim.fidelity.stacks import published_stack


@dataclass(frozen=True)
class Variant:
    """The settings of a variant."""

    fused_sum: bool = False
    weights: str = "float32"
    """Dtype of the weights and values of the second product."""
    descriptors: str = "software"


_FUSED = Variant(fused_sum=True)
VARIANTS = (
    Variant(),
    _FUSED,
    Variant(fused_sum=True, weights="bfloat16"),
    Variant(fused_sum=True, descriptors="hardware"),
    Variant(fused_sum=True, weights="bfloat16", descriptors="hardware"),
)


class _Attention:
    def __init__(self, architecture: str, seq: int, dim: int, variant: Variant) -> None:
        self.b = Builder("attention_small", architecture)
        self.seq, self.dim, self.variant = seq, dim, variant
        self.q, self.k, self.v = (self.b.argument(x, [seq, dim]) for x in "qkv")
        self.out = self.b.argument("out", [seq, dim])

    def transfer(self, destination: View, source: View, hardware_engine: str) -> None:
        """GpSimd generates software descriptors.

        Hardware ones: loads on Sync, the store on Scalar, as the compiler does with tensors in HBM
        (and the Scalar engine's published busy time grows by one trigger from V1 to V3).
        """
        descriptors = self.variant.descriptors
        engine = "gpsimd" if descriptors == "software" else hardware_engine
        self.b.dma_copy(destination, source, engine=engine, descriptors=descriptors)

    def loaded(self, source: View) -> View:
        tile = self.b.sbuf(source.label, [self.seq, self.dim])
        self.transfer(tile, source, "sync")
        return tile

    def column(self, label: str) -> View:
        return self.b.sbuf(label, [self.seq, 1])

    def weights(self, scores: View) -> tuple[View, View]:
        """exp(scale (scores - maximum)) and 1 / row sum."""
        b, scale = self.b, 1 / math.sqrt(self.dim)
        maximum, bias = self.column("negative_max"), self.column("bias")
        b.tensor_reduce(maximum, scores, "max", negate=True)
        b.tensor_scalar(bias, maximum, "multiply", scale)
        exp = b.sbuf("exp", [self.seq, self.seq], self.variant.weights)
        sums, inverse = self.column("sums"), self.column("inverse")
        if self.variant.fused_sum:
            b.activation_reduce(exp, "exp", scores, "add", sums, bias=bias, scale=scale)
        else:
            b.activation(exp, "exp", scores, bias=bias, scale=scale)
            b.tensor_reduce(sums, exp, "add")
        b.reciprocal(inverse, sums)
        return exp, inverse

    def compute(self) -> None:
        b, dtype = self.b, self.variant.weights
        q, k, v = (self.loaded(x) for x in (self.q, self.k, self.v))
        q_t, k_t = (copied(b, transposed(b, x)) for x in (q, k))
        scores = b.psum("scores", [self.seq, self.seq])
        b.nc_matmul(scores, q_t, k_t)
        exp, inverse = self.weights(scores)
        weights = copied(b, transposed(b, exp), dtype)
        values = v if dtype == v.dtype else copied(b, v, dtype)
        sum_ = b.psum("sum", [self.seq, self.dim])
        b.nc_matmul(sum_, weights, values)
        result = b.sbuf("result", [self.seq, self.dim])
        b.tensor_scalar(result, sum_, "multiply", inverse)
        self.transfer(self.out, result, "scalar")


def attention(architecture: str, seq: int, dim: int, variant: Variant) -> _core.Program:
    """softmax(q k.T / sqrt(dim)) v of fp32 tensors [seq, dim], both at most 128."""
    a = _Attention(architecture, seq, dim, variant)
    a.compute()
    return a.b.finish()


def match(measurement: Measurement) -> Case | None:
    """'single-tile attention V0' to V4 of any seq x dim that is one tile."""
    shape = pair_of(measurement)
    named = re.search(r"\bv(\d)", measurement.kernel.lower())
    if measurement.family != "attention_small" or shape is None or named is None:
        return None
    number = int(named[1])
    if number >= len(VARIANTS) or not all(0 < size <= 128 for size in shape):
        return None
    architecture, (seq, dim), variant = measurement.architecture, shape, VARIANTS[number]
    launch = Launch(
        lambda: attention(architecture, seq, dim, variant), published_stack(measurement)
    )
    # A benchmark's mean latency, with the launch.
    return Case(measurement, (launch,), total(measurement.time))
