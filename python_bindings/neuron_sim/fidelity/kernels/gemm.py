"""Matrix multiplications: the AWS tutorial's versions, autocomp's steps, nki-autotune's kernels."""

from __future__ import annotations

import re

from neuron_sim.fidelity.case import Build, Case, Launch, total
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.programs import gemm_autocomp, gemm_docs, gemm_rotation
from neuron_sim.fidelity.sizes import dtype_of, matrix_sizes, step_of
from neuron_sim.fidelity.stacks import published_stack

Sizes = tuple[int, int, int]


def _whole(sizes: Sizes, m: int, k: int, n: int) -> bool:
    """Sizes in whole blocks of that many tiles of 128, 128 and 512."""
    tiles = (128 * m, 128 * k, 512 * n)
    return all(size and size % tile == 0 for size, tile in zip(sizes, tiles, strict=True))


def _autocomp(measurement: Measurement, sizes: Sizes, dtype: str) -> Build | None:
    """'gemm step N' of ucb-bar/autocomp."""
    number = step_of(measurement)
    if number not in gemm_autocomp.STEPS:
        return None
    step = gemm_autocomp.STEPS[number]
    if not _whole(sizes, step.m, 1, step.n):
        return None
    return lambda: gemm_autocomp.gemm(measurement.architecture, sizes, dtype, step)


def _blocks(text: str) -> gemm_docs.Blocks:
    """TILES_IN_BLOCK M=16,N=2,K=8 where the text says so, else the defaults of the source."""
    found = dict(re.findall(r"(?:block_?|[,\s])([mnk])\s*=\s*(\d+)", text))
    default = gemm_docs.Blocks()
    return gemm_docs.Blocks(
        **{key: int(found.get(key, getattr(default, key))) for key in ("m", "n", "k")}
    )


def _version(measurement: Measurement) -> int | None:
    """The version of the AWS tutorial, by number or by what the kernel does."""
    text = f"{measurement.kernel} {measurement.description}".lower()
    named = re.search(r"matrix_multiply_kernel\s*v?(\d)", text) or re.search(
        r"awsdocs-v(\d)", measurement.id
    )
    if named:
        return int(named[1])
    words = {5: r"all dim|fully.optimi[sz]ed", 2: r"naive|tiled"}
    return next((v for v, pattern in words.items() if re.search(pattern, text)), None)


def _docs(measurement: Measurement, sizes: Sizes, dtype: str) -> Build | None:
    architecture = measurement.architecture
    version = _version(measurement)
    text = measurement.description.lower()
    if version == 2 and _whole(sizes, 1, 1, 1):
        return lambda: gemm_docs.tiled(architecture, sizes, dtype)
    if version == 5:
        blocks = _blocks(text)
        if _whole(sizes, blocks.m, blocks.k, blocks.n):
            return lambda: gemm_docs.blocked(architecture, sizes, dtype, blocks)
    return None


def _rotation(measurement: Measurement, sizes: Sizes, dtype: str) -> Build | None:
    """The kernels of nki-autotune; its compiler baselines are not kernels."""
    architecture = measurement.architecture
    kernel = measurement.kernel.lower()
    text = f"{kernel} {measurement.description.lower()}"
    if re.search(r"compiler|nkipy|hlo", kernel):
        return None
    if re.search(r"dma.?transpose|\blhs\s*@\s*rhs|lhs_rhs", text):
        whole = _whole(sizes, 8, 8, 1)
        return (lambda: gemm_rotation.hand_lhs(architecture, sizes, dtype)) if whole else None
    if not _whole(sizes, 1, 1, 1) or re.search(r"(?<!not )doubl\w*.?buffer|sunk|rfactor", text):
        return None
    if re.search(r"hoist|loaded first|resident|ladder|pipelin", text):
        return lambda: gemm_rotation.ladder(architecture, sizes, dtype)
    return None


def match(measurement: Measurement) -> Case | None:
    """Family gemm."""
    sizes, dtype = matrix_sizes(measurement), dtype_of(measurement)
    if measurement.family != "gemm" or sizes is None or dtype is None:
        return None
    origin = f"{measurement.source} {measurement.id} {measurement.kernel}".lower()
    if "gemm step" in origin or "autocomp" in origin:
        # nki.benchmark's nc_latency, through the old front end and its middle end.
        build, direct, key = _autocomp(measurement, sizes, dtype), False, "latency_us"
    elif "autotune" in origin or "ladder" in origin or "gemm2048" in origin:
        # The runner reports the profiler's total_time and the MFU derived from it.
        build, direct, key = _rotation(measurement, sizes, dtype), True, "profile_us"
    else:
        # The end of the profiler's timeline.
        build, direct, key = _docs(measurement, sizes, dtype), True, "profile_us"
        if "latency" in measurement.metric.lower():
            key = "latency_us"
    if build is None:
        return None
    return Case(
        measurement, (Launch(build, published_stack(measurement, direct=direct)),), total(key)
    )
