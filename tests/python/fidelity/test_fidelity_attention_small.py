"""Attention of one tile in the fidelity suite: what it computes and which texts it takes."""

import collections
import dataclasses
import math

import numpy as np
import pytest
from fidelity_runs import compute, uniform
from neuron_sim.fidelity.kernels import attention_small
from neuron_sim.fidelity.measurement import Measurement

TILE = Measurement(
    id="x", family="attention_small", arch="trn2", kernel="single-tile attention V0",
    description="one attention tile; V2 uses bf16 for P@V, V3/V4 use hardware DGE descriptors",
    shapes="seq x dim = 128x64", dtype="float32 (bf16 P@V in V2/V4)",
    metric="benchmark mean latency", value=1.0, unit="us",
)  # fmt: skip
SUFFIXES = ["V0", "V1", "V2-bf16PV", "V3-hwdge", "V4-hwdge-bf16"]


def program(variant, shapes="seq x dim = 128x64"):
    kernel = f"single-tile attention {variant}"
    case = attention_small.match(dataclasses.replace(TILE, kernel=kernel, shapes=shapes))
    return case.launches[0].build()


@pytest.mark.parametrize("seq, dim", [(128, 64), (64, 128), (100, 33), (1, 1)])
@pytest.mark.parametrize("variant", SUFFIXES)
def test_every_variant_computes_attention(variant, seq, dim):
    q, k, v = (uniform(seq, dim, np.float32, seed) for seed in range(3))
    out = np.zeros((seq, dim), np.float32)
    compute(program(variant, f"seq x dim = {seq}x{dim}"), [q, k, v, out])
    scores = q.astype(np.float64) @ k.T / math.sqrt(dim)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ v
    tolerance = 6e-3 if "bf16" in variant else 1e-5
    np.testing.assert_allclose(out, expected, atol=tolerance)


@pytest.mark.parametrize("variant", SUFFIXES)
def test_the_tensor_engine_transposes_three_tiles_and_multiplies_twice(variant):
    """As published: 7 matmul instructions in fp32, where a product is two of them."""
    instructions = {
        (step["index"], step["instruction"])
        for step in program(variant).steps()
        if step["unit"] == "multiply_moving"
    }
    kinds = collections.Counter(name for _, name in instructions)
    assert kinds == {"nc_transpose": 3, "nc_matmul": 2}


@pytest.mark.parametrize("variant", SUFFIXES)
def test_descriptors_decide_who_triggers(variant):
    engines = {step["engine"] for step in program(variant).steps() if step["kind"] == "trigger"}
    assert engines == ({"Sync", "Scalar"} if "hwdge" in variant else {"GpSimd"})


@pytest.mark.parametrize("changes", [
    {"kernel": "single-tile attention V5"}, {"kernel": "single-tile attention"},
    {"shapes": "seq x dim = 129x64"}, {"shapes": ""}, {"family": "attention"},
])  # fmt: skip
def test_what_the_texts_do_not_describe_has_no_kernel(changes):
    assert attention_small.match(dataclasses.replace(TILE, **changes)) is None
