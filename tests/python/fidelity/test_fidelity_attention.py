"""The attention kernels of the fidelity suite: what they compute and which texts they take."""

import dataclasses

import ml_dtypes
import numpy as np
import pytest
from fidelity_runs import compute, uniform
from neuron_sim.fidelity.kernels import attention
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.programs import attention_fusion

FUSION = Measurement(
    id="x", family="attention", arch="trn2", kernel="fused_attention",
    description="fused: q,k,v each loaded with one DMA",
    shapes="q,k,v (128,512) d_head=128, single head, no mask", dtype="fp32",
    metric="nki.benchmark NC latency p50", value=1.0, unit="us",
)  # fmt: skip


def softmax(scores):
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def oracle(q, k, v, scale=1.0):
    """softmax(scale q.T k) v.T of [head, length] arrays in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    return softmax(scale * q.T @ k) @ v.T


@pytest.mark.parametrize("build", [attention_fusion.baseline, attention_fusion.fused])
@pytest.mark.parametrize(
    "dtype, name, tolerance",
    [(np.float32, "float32", 1e-5), (ml_dtypes.bfloat16, "bfloat16", 4e-3)],
)
@pytest.mark.parametrize("length", [512, 1024])
def test_both_kernels_compute_attention(build, dtype, name, tolerance, length):
    q, k, v = (uniform(128, length, dtype, seed) for seed in range(3))
    out = np.zeros((length, 128), dtype)
    compute(build("trn2", length, name), [q, k, v, out])
    np.testing.assert_allclose(out.astype(np.float64), oracle(q, k, v), atol=tolerance)


def ladder_case(step, arch="trn1", shapes="q,k,v (128,512) one head, no mask"):
    changes = {"kernel": f"attention step {step}", "dtype": "bfloat16"}
    return attention.match(dataclasses.replace(FUSION, arch=arch, shapes=shapes, **changes))


@pytest.mark.parametrize("arch", ["trn1", "trn2"])
@pytest.mark.parametrize("length", [512, 1024])
@pytest.mark.parametrize("step", [0, 2, 4, 8])
def test_every_measured_step_of_the_ladder_computes_attention(step, length, arch):
    case = ladder_case(step, arch=arch, shapes=f"q,k,v (128,{length})")
    q, k, v = (uniform(128, length, ml_dtypes.bfloat16, seed) for seed in range(3))
    q = (q.astype(np.float32) / 4).astype(q.dtype)
    out = np.zeros((length, 128), q.dtype)
    compute(case.launches[0].build(), [q, k, v, out])
    np.testing.assert_allclose(out.astype(np.float64), oracle(q, k, v), atol=4e-3)


@pytest.mark.parametrize("arch", ["trn1", "trn2"])
@pytest.mark.parametrize("length, head", [(128, 64), (384, 40), (256, 128)])
@pytest.mark.parametrize("step", [0, 4])
def test_every_measured_step_for_small_heads_computes_attention(step, length, head, arch):
    case = attention.match(
        dataclasses.replace(FUSION, arch=arch, kernel=f"sdattn step {step}",
            shapes=f"q,k,v ({length},{head}) one head", dtype="float32 in, bf16 PE operands later"),
    )  # fmt: skip
    q, k, v = (uniform(length, head, np.float32, seed) for seed in range(3))
    out = np.zeros((length, head), np.float32)
    compute(case.launches[0].build(), [q, k, v, out])
    np.testing.assert_allclose(out, oracle(q.T, k.T, v.T, 0.125), atol=1e-2)


@pytest.mark.parametrize("length", [512, 1536, 4096])
def test_the_length_and_the_dtype_come_from_the_texts(length):
    shapes = f"q,k,v (128,{length}) d_head=128"
    case = attention.match(dataclasses.replace(FUSION, shapes=shapes, dtype="bf16"))
    (q, *_) = case.launches[0].build().arguments
    assert (q["shape"], q["dtype"]) == ([128, length], "bfloat16")


@pytest.mark.parametrize("changes", [
    {"shapes": "q,k,v (64,512)"},
    {"shapes": "q,k,v (128,500)"},
    {"shapes": ""},
    {"dtype": "int8"},
    {"kernel": "something else"},
    {"kernel": "attention step 5"},
    {"kernel": "sdattn step 3", "shapes": "q,k,v (512,64)"},
    {"kernel": "sdattn step 0", "shapes": "q,k,v (500,64)"},
    {"kernel": "sdattn step 0", "shapes": "q,k,v (512,129)"},
    {"family": "gemm"},
])  # fmt: skip
def test_what_the_texts_do_not_describe_has_no_kernel(changes):
    assert attention.match(dataclasses.replace(FUSION, **changes)) is None


def test_a_profile_is_read_as_the_profilers_total_time():
    timings = [{"latency_us": 1.0, "profile_us": 2.0, "body_us": 0.5}]
    profile = {"family": "attention_trace", "metric": "neuron-profile total_time"}
    assert attention.match(FUSION).reading(timings) == 1.0
    traced = attention.match(dataclasses.replace(FUSION, **profile))
    assert traced.reading(timings) == 2.0


@pytest.mark.parametrize("arch", ["trn1", "inf2", "trn2"])
def test_the_stack_follows_the_architecture(arch):
    case = attention.match(dataclasses.replace(FUSION, arch=arch))
    expected = "neuronx-cc trn2" if arch == "trn2" else "neuronx-cc trn1"
    assert case.launches[0].stack == expected
