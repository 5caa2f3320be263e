"""The matrix multiplications of the fidelity suite: what they compute, which texts they take."""

import dataclasses
import math

import ml_dtypes
import numpy as np
import pytest
from fidelity_runs import compute, uniform
from neuron_sim.fidelity.kernels import gemm
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.programs import gemm_autocomp, gemm_docs, gemm_rotation

DOCS = Measurement(
    id="trn2-gemm-awsdocs-v2", family="gemm", arch="trn2", kernel="matrix_multiply_kernel v2",
    description="naive tiled: for m(32) for n(16) for k(64)",
    shapes="lhsT (8192,4096) rhs (8192,8192): M=4096 K=8192 N=8192, 549.8 GFLOP", dtype="float32",
    metric="profile timeline end", value=1.0, unit="us",
)  # fmt: skip
AUTOCOMP = dataclasses.replace(
    DOCS, id="trn1-gemm-autocomp-0", arch="trn1", kernel="gemm step 0", description="naive tiled",
    dtype="bfloat16", metric="nki.benchmark NC latency p99",
)  # fmt: skip
LADDER = dataclasses.replace(
    DOCS,
    id="trn2-gemm2048-bf16-k59",
    kernel="ladder: PSUM tiled, loads hoisted, not double buffered",
    description="operands fully loaded first, single-buffered accumulators",
    shapes="2048x2048x2048, 1024 nc_matmul of 128x128x512",
    dtype="bfloat16",
    metric="on-device latency derived from MFU",
)


def check(program, sizes, dtype, tolerance, transposed=True):
    """The program's third argument becomes the product of the first two."""
    m, k, n = sizes
    lhs = (uniform(k, m, np.float64) / math.sqrt(k)).astype(dtype)
    rhs = uniform(k, n, dtype, seed=1)
    result = np.zeros((m, n), dtype)
    left = lhs if transposed else np.ascontiguousarray(lhs.T)
    compute(program, [left, rhs, result])
    expected = lhs.astype(np.float64).T @ rhs.astype(np.float64)
    np.testing.assert_allclose(result.astype(np.float64), expected, atol=tolerance)


DTYPES = [(np.float32, "float32", 1e-5), (ml_dtypes.bfloat16, "bfloat16", 2e-2)]


@pytest.mark.parametrize("arch", ["trn1", "trn2"])
@pytest.mark.parametrize("dtype, name, tolerance", DTYPES)
def test_the_tutorials_tiles_multiply(arch, dtype, name, tolerance):
    sizes = (256, 384, 1024)
    check(gemm_docs.tiled(arch, sizes, name), sizes, dtype, tolerance)


@pytest.mark.parametrize("dtype, name, tolerance", DTYPES)
@pytest.mark.parametrize("sizes, blocks", [
    ((512, 512, 1024), gemm_docs.Blocks(2, 1, 2)),
    ((256, 384, 1024), gemm_docs.Blocks(1, 2, 3)),
    ((256, 256, 512), gemm_docs.Blocks(2, 1, 2)),
])  # fmt: skip
def test_the_tutorials_last_kernel_multiplies(sizes, blocks, dtype, name, tolerance):
    check(gemm_docs.blocked("trn2", sizes, name, blocks), sizes, dtype, 2 * tolerance)


def test_a_block_of_lhs_beyond_sbuf_is_loaded_in_parts():
    sizes, blocks = (4096, 512, 1024), gemm_docs.Blocks(16, 2, 4)
    check(gemm_docs.blocked("trn2", sizes, "float32", blocks), sizes, np.float32, 1e-5)


@pytest.mark.parametrize("number", gemm_autocomp.STEPS)
@pytest.mark.parametrize("dtype, name, tolerance", DTYPES)
def test_every_measured_step_of_autocomp_multiplies(number, dtype, name, tolerance):
    sizes = (1024, 256, 2048)
    program = gemm_autocomp.gemm("trn1", sizes, name, gemm_autocomp.STEPS[number])
    check(program, sizes, dtype, tolerance)


def test_the_ladder_multiplies():
    sizes = (384, 256, 1024)
    program = gemm_rotation.ladder("trn2", sizes, "bfloat16")
    check(program, sizes, ml_dtypes.bfloat16, 2e-2)


@pytest.mark.parametrize("sizes", [(1024, 1024, 512), (1024, 2048, 1024)])
def test_the_kernel_tuned_by_hand_multiplies(sizes):
    straight = gemm_rotation.hand_lhs("trn2", sizes, "bfloat16")
    check(straight, sizes, ml_dtypes.bfloat16, 4e-2, transposed=False)


@pytest.mark.parametrize("base, changes, kernel, stack, key", [
    (DOCS, {}, "matrix_multiply", "neuronx-cc trn2 direct", "profile_us"),
    (AUTOCOMP, {}, "gemm", "neuronx-cc trn1", "latency_us"),
    (AUTOCOMP, {"arch": "trn2"}, "gemm", "neuronx-cc trn2", "latency_us"),
    (LADDER, {}, "matmul", "neuronx-cc trn2 direct", "profile_us"),
])  # fmt: skip
def test_source_decides_stack_and_reading(base, changes, kernel, stack, key):
    case = gemm.match(dataclasses.replace(base, **changes))
    timing = dict.fromkeys(["latency_us", "profile_us", "body_us"], 0.0) | {key: 7.0}
    assert case.launches[0].build().kernel == kernel
    assert (case.launches[0].stack, case.reading([timing])) == (stack, 7.0)


def label(case):
    """Tells the variants apart by their instructions."""
    return case.launches[0].build().listing()


@pytest.mark.parametrize("version", [2, 5])
def test_versions_go_by_number_or_by_what_they_do(version):
    words = {2: "naive tiled", 5: "all dims"}
    named = dataclasses.replace(
        DOCS, kernel=f"matrix_multiply_kernel v{version}", description="", id="x"
    )
    told = dataclasses.replace(DOCS, kernel="nki_matmul", description=words[version], id="x")
    assert label(gemm.match(named)) == label(gemm.match(told))


def test_the_blocks_are_read_from_the_description():
    text = "blocked in all dims TILES_IN_BLOCK M=4,N=1,K=2: rhs loads"
    case = gemm.match(
        dataclasses.replace(
            DOCS, kernel="matrix_multiply_kernel v5", description=text, shapes="512x512x512"
        )
    )
    expected = gemm_docs.blocked("trn2", (512, 512, 512), "float32", gemm_docs.Blocks(4, 1, 2))
    assert label(case) == expected.listing()


@pytest.mark.parametrize("base, changes", [
    (DOCS, {"shapes": "M=100 K=128 N=512"}),
    (DOCS, {"kernel": "another", "description": "", "id": "x"}),
    (DOCS, {"dtype": "int4"}),
    (DOCS, {"family": "conv2d"}),
    (DOCS, {"kernel": "matrix_multiply_kernel v3"}),
    (AUTOCOMP, {"kernel": "gemm step 3"}),
    (AUTOCOMP, {"kernel": "gemm step 4", "shapes": "M=384 K=128 N=1024"}),
    (LADDER, {"kernel": "compiler baseline (nkipy)"}),
    (LADDER, {"kernel": "ladder: accumulator double-buffered, loads hoisted"}),
    (LADDER, {"kernel": "ladder: loads sunk to inner K, single-buffered"}),
])  # fmt: skip
def test_what_the_texts_do_not_describe_has_no_kernel(base, changes):
    assert gemm.match(dataclasses.replace(base, **changes)) is None
