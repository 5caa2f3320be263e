"""Vector addition of the Stanford CS149 assignment: c = a + b in tiles.

Sources: stanford-cs149/asst4-trainium (trn1: nl.load and nl.store) and asst4-trainium2 (trn2:
nisa.dma_copy, skip_middle_end_transformations), part1/kernels.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from neuron_sim import _core
from neuron_sim.fidelity import lowering, wording
from neuron_sim.fidelity.case import Case, Launch, total
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.stacks import published_stack, says_static

PARTITIONS = 128
PHYSICAL_TILES = 4
"""Tiles per tensor of the kernels with direct allocation (FREE_DIM_TILES of the source)."""


@dataclass(frozen=True)
class VectorAdd:
    """c = a + b for vectors of `size` elements, in tiles of [rows, columns]."""

    architecture: str
    variant: str
    """tiled, stream, alloc: the assignment's names."""
    size: int
    rows: int
    columns: int
    dtype: str = "float32"

    def build(self) -> _core.Program:
        """The kernel in program order: arguments a, b, c, each [tiles, rows, columns]."""
        builder = _core.Builder(f"vector_add_{self.variant}", self.architecture)
        tiles = self.size // (self.rows * self.columns)
        shape = [tiles, self.rows, self.columns]
        a, b, c = (builder.argument(name, shape, self.dtype) for name in ("a", "b", "c"))
        if self.variant == "alloc":
            builder.loop(tiles, self._allocated(builder, a, b, c))
        else:
            builder.loop(tiles, lambda m: self._tile(builder, a[m], b[m], c[m]))
        return builder.finish()

    def _tile(self, builder: _core.Builder, a: _core.View, b: _core.View, c: _core.View) -> None:
        """One tile, in per-iteration buffers."""
        shape = [self.rows, self.columns]
        a_tile, b_tile, result = (builder.sbuf(name, shape, self.dtype) for name in "abr")
        builder.dma_copy(a_tile, a)
        builder.dma_copy(b_tile, b)
        if self.columns == 1 and self.architecture != "trn1":  # trn1's kernels use nl.add
            operand = lowering.scalar_operand(builder, b_tile)
            builder.tensor_scalar(result, a_tile, "add", operand)
        else:
            builder.tensor_tensor(result, a_tile, b_tile, "add")
        builder.dma_copy(c, result)

    def _allocated(
        self, builder: _core.Builder, a: _core.View, b: _core.View, c: _core.View
    ) -> Callable[[_core.Affine], None]:
        """One tile, in rings of PHYSICAL_TILES tiles at addresses that the kernel chooses."""
        shape = [self.rows, self.columns]
        ring_bytes = PHYSICAL_TILES * self.columns * wording.ITEM_BYTES[self.dtype]
        a_ring, b_ring, results = (
            builder.place("sbuf", name, shape, self.dtype, i * ring_bytes, ring=PHYSICAL_TILES)
            for i, name in enumerate("abr")
        )

        def body(m: _core.Affine) -> None:
            builder.dma_copy(a_ring.turn(m), a[m])
            builder.dma_copy(b_ring.turn(m), b[m])
            builder.tensor_tensor(results.turn(m), a_ring.turn(m), b_ring.turn(m), "add")
            builder.dma_copy(c[m], results.turn(m))

        return body


def match(measurement: Measurement) -> Case | None:
    """Reads variant, vector length and tile shape."""
    kernel = _read(measurement)
    if kernel is None:
        return None
    # nki.benchmark's NC latency, or the profiler's total_time with its preamble and postamble. The
    # trn2 course harness compiles with --disable-dge when it profiles.
    profiled = "profile" in measurement.metric.lower()
    course = measurement.architecture == "trn2"
    stack = published_stack(
        measurement,
        direct=course or kernel.variant == "alloc",
        static=says_static(measurement) or (course and profiled),
    )
    reading = total(measurement.time)
    return Case(measurement, (Launch(kernel.build, stack),), reading)


def _read(measurement: Measurement) -> VectorAdd | None:
    if measurement.family != "vector_add":
        return None
    text, variant = measurement.text, _variant(measurement.kernel.lower())
    sizes = wording.shapes(measurement.shapes)
    size = sizes[0][0] if sizes else wording.number(measurement.shapes, "", "size")
    dtype = wording.dtype(measurement.dtype or "float32")
    rows, columns = PARTITIONS, 1
    if variant == "tiled":
        rows = wording.number(text, "row_chunk", "chunk") or _tile(text)[0]
    else:
        columns = wording.number(text, "free_dim", "fd") or _tile(text)[1]
    if variant is None or size is None or dtype is None:
        return None
    if not 0 < rows <= PARTITIONS or columns <= 0 or size % (rows * columns) != 0:
        return None
    return VectorAdd(measurement.architecture, variant, size, rows, columns, dtype)


def _variant(kernel: str) -> str | None:
    if "bad" in kernel:
        return None
    return next((name for name in ("alloc", "tiled", "stream") if name in kernel), None)


def _tile(text: str) -> tuple[int, int]:
    """The first [rows x columns] of the text; zeros without one."""
    return next((s for s in wording.shapes(text.replace(" ", "")) if len(s) == 2), (0, 0))
