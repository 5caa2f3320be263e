"""The vector additions of the Stanford CS149 handout, part 1, as NKI kernels on the simulator."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from neuron_sim.fidelity.measurement import load_measurements
from neuron_sim.run.aliases import install

KERNELS = "vector_add_rows", "vector_add_tiles"
CASES: list[tuple[str, str, int, dict[str, int], str]] = [
    ("ROW_CHUNK 1", KERNELS[0], 2560, {"row_chunk": 1}, ""),
    ("ROW_CHUNK 128", KERNELS[0], 25600, {"row_chunk": 128}, "vadd-tiled-rc128-25600"),
    ("FREE_DIM 2", KERNELS[1], 25600, {"free_dim": 2}, "vadd-stream-fd2-25600"),
    ("FREE_DIM 200", KERNELS[1], 25600, {"free_dim": 200}, ""),
    ("FREE_DIM 1000", KERNELS[1], 256000, {"free_dim": 1000}, "vadd-stream-fd1000-256000-bench"),
    ("FREE_DIM 2000", KERNELS[1], 256000, {"free_dim": 2000}, ""),
]
"""Variant, kernel of models/nki/vector_add.py, elements, options, and the measured `nc_latency` of
the same variant on a chip (docs/fidelity.md), where there is one."""
THROUGH_MIDDLE_END = ("trn1",)
"""Where the course's kernels go through the compiler's middle end: in 2024, on trn1. Those of 2025
skip it."""


@dataclass(frozen=True)
class VectorAddition:
    """A variant and its `nc_latency` in microseconds: p50 of the benchmark, with the launch."""

    variant: str
    elements: int
    simulated_us: float
    measured_us: float | None
    """`nc_latency` of a chip of the same architecture; None where no one published it."""


def vector_additions(architecture: str) -> Iterator[VectorAddition]:
    """Runs the variants; AssertionError when a sum is wrong."""
    measured = {
        measurement.id: measurement.value
        for measurement in load_measurements()
        if measurement.arch == architecture and "NC latency" in measurement.metric
    }
    kernels, nki = _kernels()
    for variant, name, elements, options, measurement in CASES:
        kernel = getattr(kernels, name)
        if architecture not in THROUGH_MIDDLE_END:
            kernel = nki.compiler.skip_middle_end_transformations(kernel)
        a, b = numpy.random.default_rng(0).random((2, elements), numpy.float32)
        result = nki.baremetal(kernel)(a, b, **options)
        assert numpy.array_equal(result, a + b), variant
        benchmarked = nki.benchmark(kernel)
        with contextlib.redirect_stdout(io.StringIO()):  # the vendor's table of latencies
            benchmarked(a, b, **options)
        yield VectorAddition(
            variant,
            elements,
            benchmarked.benchmark_result.nc_latency.get_latency_percentile(50),
            measured.get(f"{architecture}-{measurement}"),
        )


def row_chunk_error() -> str:
    """The answer to the handout's first question: ROW_CHUNK = 256."""
    kernels, nki = _kernels()
    a = numpy.zeros(25600, numpy.float32)
    try:
        nki.baremetal(kernels.vector_add_rows)(a, a, row_chunk=256)
    except ValueError as error:
        return str(error).splitlines()[0]
    raise AssertionError("256 partitions were accepted")


def _kernels() -> tuple[Any, Any]:
    """models/nki/vector_add.py, unchanged, and `neuronxcc.nki`."""
    install()  # as `neuron-sim run` does
    sys.path.insert(0, str(Path(__file__).resolve().parent / "nki"))
    try:
        return importlib.import_module("vector_add"), importlib.import_module("neuronxcc.nki")
    finally:
        sys.path.pop(0)
