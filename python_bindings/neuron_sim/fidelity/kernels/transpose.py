"""Transpose of a matrix in tiles of 128 x 128 on the Tensor engine.

Source: stanford-cs149/asst4-trainium2, part1/kernels.py, as its solutions fill it in: load a tile,
nc_transpose into PSUM, tensor_copy to SBUF, store. The same kernel in nki-samples (transpose2d)
works on one tile's free dimensions and is not covered here.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuron_sim import _core
from neuron_sim.fidelity import lowering, wording
from neuron_sim.fidelity.case import Case, Launch, total
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.stacks import published_stack, says_static

TILE = 128


@dataclass(frozen=True)
class Transpose:
    """out[N, M] = x[M, N].T"""

    architecture: str
    rows: int
    columns: int
    dtype: str

    def build(self) -> _core.Program:
        """The kernel in program order: arguments x, out."""
        builder = _core.Builder("matrix_transpose", self.architecture)
        x = builder.argument("x", [self.rows, self.columns], self.dtype)
        out = builder.argument("out", [self.columns, self.rows], self.dtype)
        identity = lowering.load_identity(builder, TILE, self.dtype)

        def row(m: _core.Affine) -> None:
            rows = slice(m * TILE, m * TILE + TILE)

            def column(n: _core.Affine) -> None:
                columns = slice(n * TILE, n * TILE + TILE)
                tile = builder.sbuf("a_tile", [TILE, TILE], self.dtype)
                builder.dma_copy(tile, x[rows, columns])
                turned = lowering.transpose(builder, tile, identity)
                copy = builder.sbuf("a_turned", [TILE, TILE], self.dtype)
                builder.tensor_copy(copy, turned)
                builder.dma_copy(out[columns, rows], copy)

            builder.loop(self.columns // TILE, column)

        builder.loop(self.rows // TILE, row)
        return builder.finish()


def match(measurement: Measurement) -> Case | None:
    """Reads the matrix. Other ways to transpose, also rows that are loaded whole: None."""
    text = measurement.text
    if measurement.family != "transpose" or not any(
        word in text for word in ("matrix_transpose", "nc_transpose")
    ):
        return None
    if "load_transpose" in text or "dma_transpose" in text or "improved" in measurement.kernel:
        return None
    sizes = next((s for s in wording.shapes(measurement.shapes) if len(s) == 2), None)
    dtype = wording.dtype(measurement.dtype or "float32")
    if sizes is None or dtype is None or sizes[0] % TILE or sizes[1] % TILE:
        return None
    if "row-wise load" in text and "per-tile" not in text:
        return None
    kernel = Transpose(measurement.architecture, *sizes, dtype)
    profiled = "profile" in measurement.metric.lower()
    course = measurement.architecture == "trn2"
    stack = published_stack(
        measurement, direct=course, static=says_static(measurement) or (course and profiled)
    )
    # The profiler's total_time contains preamble and postamble; nki.benchmark's latency does not.
    reading = total(measurement.time)
    return Case(measurement, (Launch(kernel.build, stack),), reading)
