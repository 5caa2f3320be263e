"""GEMM + GELU of the fidelity suite: what the kernels compute and which texts they take."""

import dataclasses
import math

import ml_dtypes
import numpy as np
import pytest
from fidelity_runs import compute, uniform
from neuron_sim.fidelity.kernels import gemm_gelu
from neuron_sim.fidelity.measurement import Measurement

BASELINE = Measurement(
    id="x", family="gemm_gelu", arch="trn2", kernel="mlp_baseline",
    description="TWO kernel launches summed",
    shapes="lhsT (128,128) rhs (128,512) bias (1,512); M=128 K=128 N=512", dtype="fp32",
    metric="nki.benchmark NC latency p50", value=1.0, unit="us",
)  # fmt: skip


def operands(sizes, dtype):
    m, k, n = sizes
    lhs = (uniform(k, m, np.float64) / math.sqrt(k)).astype(dtype)
    return [lhs, uniform(k, n, dtype), uniform(1, n, dtype)]


def product(lhs, rhs, bias):
    lhs, rhs, bias = (x.astype(np.float64) for x in (lhs, rhs, bias))
    return lhs.T @ rhs + bias


def exact_gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


DTYPES = [(np.float32, "fp32", 2e-5), (ml_dtypes.bfloat16, "bf16", 3e-2)]
SIZES = [(128, 128, 512), (256, 384, 1024)]


def run(kernel, sizes, dtype, name):
    """The launches of a measurement one after the other; the last argument is the result."""
    shapes = f"M={sizes[0]} K={sizes[1]} N={sizes[2]}"
    case = gemm_gelu.match(dataclasses.replace(BASELINE, kernel=kernel, shapes=shapes, dtype=name))
    arrays = operands(sizes, dtype)
    for launch in case.launches:
        result = np.zeros((sizes[0], sizes[2]), dtype)
        compute(launch.build(), [*arrays, result])
        arrays = [result]
    return result.astype(np.float64), operands(sizes, dtype)


@pytest.mark.parametrize("dtype, name, tolerance", DTYPES)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kernel, function", [
    ("mlp_baseline", exact_gelu), ("mlp_fused_pwl", exact_gelu), ("mlp_fused_taylor", tanh_gelu),
])  # fmt: skip
def test_the_kernels_compute_gelu_of_the_product(kernel, function, sizes, dtype, name, tolerance):
    result, arrays = run(kernel, sizes, dtype, name)
    np.testing.assert_allclose(result, function(product(*arrays)), atol=tolerance)


def test_the_baseline_is_the_sum_of_two_launches():
    case = gemm_gelu.match(BASELINE)
    assert len(case.launches) == 2
    assert case.reading([{"latency_us": 1.0}, {"latency_us": 2.5}]) == 3.5


@pytest.mark.parametrize("shapes, expected", [
    ("M=256 K=512 N=1024", (256, 512, 1024)),
    ("lhsT (512,256) rhs (512,1024) bias (1,1024)", (256, 512, 1024)),
    ("lhs (256, 512), rhs [512 x 1024]", (256, 512, 1024)),
    ("256x512x1024", (256, 512, 1024)),
    ("1024^3", (1024, 1024, 1024)),
])  # fmt: skip
def test_sizes_are_read_in_any_wording(shapes, expected):
    case = gemm_gelu.match(dataclasses.replace(BASELINE, shapes=shapes, kernel="mlp_fused_pwl"))
    lhs, rhs, *_ = case.launches[0].build().arguments
    assert (lhs["shape"][1], lhs["shape"][0], rhs["shape"][1]) == expected


@pytest.mark.parametrize("changes", [
    {"shapes": "M=100 K=128 N=512"},
    {"shapes": "M=128 K=128 N=256"},
    {"shapes": "lhsT (512,256) rhs (256,1024)"},
    {"shapes": "large"},
    {"dtype": ""},
    {"kernel": "mlp_other"},
    {"family": "gemm"},
])  # fmt: skip
def test_what_the_texts_do_not_describe_has_no_kernel(changes):
    assert gemm_gelu.match(dataclasses.replace(BASELINE, **changes)) is None
