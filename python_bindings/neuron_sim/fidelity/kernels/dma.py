"""DMA bandwidth and latency tests.

Sources: microbench/inf2_nki of Deep-Learning-Profiling-Tools/triton-viz (bulk copies, strided
stores, pointer chase), aws-neuron-sdk nki-dma-overview (tensor_exp_kernel_isa), and a
streaming read whose kernel is not public (tiles of 4 MiB are our choice).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from neuron_sim import _core
from neuron_sim.fidelity import wording
from neuron_sim.fidelity.case import Case, Launch, Timings, total
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.stacks import published_stack

DMA_ENGINES = 16
"""DMA engines of a NeuronCore; documented."""

STREAM_TILE = (128, 8192)
"""fp32 elements of a tile of the streaming read: 4 MiB."""

GIBIBYTE = 1 << 30


@dataclass(frozen=True)
class BulkCopy:
    """`repeat` transfers of [partitions, columns]."""

    architecture: str
    mode: str
    """read or write"""
    partitions: int
    columns: int
    repeat: int
    dtype: str

    def build(self) -> _core.Program:
        """The kernel in program order: arguments x, out."""
        builder = _core.Builder(f"dma_{self.mode}", self.architecture)
        shape = [self.repeat, self.partitions, self.columns]
        x = builder.argument("x", shape, self.dtype)
        width = 1 if self.mode == "read" else self.columns
        out = builder.argument("out", [*shape[:2], width], self.dtype)
        getattr(self, f"_{self.mode}")(builder, x, out)
        return builder.finish()

    def _tiles(self, builder: _core.Builder, count: int, columns: int) -> list[_core.View]:
        shape = [self.partitions, columns]
        return [builder.sbuf(f"tile{i}", shape, self.dtype) for i in range(count)]

    def _read(self, builder: _core.Builder, x: _core.View, out: _core.View) -> None:
        """All loads, then each tile is summed per partition and the sums are stored."""
        tiles = self._tiles(builder, self.repeat, self.columns)
        sums = self._tiles(builder, self.repeat, 1)
        copy = builder.sbuf("copy", [self.partitions, self.columns], self.dtype)
        for i, tile in enumerate(tiles):
            builder.dma_copy(tile, x[i])
        for i, tile in enumerate(tiles):
            builder.activation_reduce(copy, "copy", tile, "add", sums[i])
            builder.dma_copy(out[i], sums[i])

    def _write(self, builder: _core.Builder, x: _core.View, out: _core.View) -> None:
        """One load, then its tile is stored repeatedly."""
        (tile,) = self._tiles(builder, 1, self.columns)
        builder.dma_copy(tile, x[0])
        for i in range(self.repeat):
            builder.dma_copy(out[i], tile)


def build_strided_store(
    architecture: str, partitions: int, columns: int, stride: int, dtype: str
) -> _core.Program:
    """Stores [partitions, columns] with a stride of `stride` elements in HBM."""
    builder = _core.Builder("strided_store", architecture)
    x = builder.argument("x", [partitions, columns], dtype)
    out = builder.argument("out", [partitions, columns * stride], dtype)
    tile = builder.sbuf("tile", [partitions, columns], dtype)
    builder.dma_copy(tile, x)
    builder.dma_copy(out[0:partitions, 0 : columns * stride : stride], tile)
    return builder.finish()


def build_pointer_chase(architecture: str, hops: int, ring: int = 1024) -> _core.Program:
    """Each load's address is the value that the previous load returned. Arguments table, out."""
    builder = _core.Builder("pointer_chase", architecture)
    table = builder.argument("table", [ring, 1], "uint32")
    out = builder.argument("out", [1, 1], "uint32")
    here = builder.sbuf("seed", [1, 1], "uint32")
    builder.dma_copy(here, table[0:1])
    for hop in range(hops):
        there = builder.sbuf(f"hop{hop}", [1, 1], "uint32")
        builder.dma_copy(there, table[0:1].indirect(ring), index=here)
        here = there
    builder.dma_copy(out, here)
    return builder.finish()


def build_load(architecture: str, partitions: int, columns: int, dtype: str) -> _core.Program:
    """One load of [partitions, columns]."""
    builder = _core.Builder("load", architecture)
    x = builder.argument("x", [partitions, columns], dtype)
    builder.dma_copy(builder.sbuf("tile", [partitions, columns], dtype), x)
    return builder.finish()


def build_stream(architecture: str, tiles: int) -> _core.Program:
    """Loads `tiles` tiles of STREAM_TILE one after the other."""
    builder = _core.Builder("memory_read", architecture)
    x = builder.argument("x", [tiles, *STREAM_TILE])
    builder.loop(tiles, lambda i: builder.dma_copy(builder.sbuf("tile", [*STREAM_TILE]), x[i]))
    return builder.finish()


def bytes_per_active_time(timings: Timings) -> float:
    """GB/s: all bytes that DMAs moved, over the time in which one of them was in flight.

    The profiler's DMA active time contains the latencies of transfers, but not their triggers.
    """
    moved = sum(timing["dma_bytes"] for timing in timings)
    return moved / (1e3 * sum(timing["dma_active_us"] for timing in timings))


def read_bytes_per_active_time(timings: Timings) -> float:
    """GB/s: the bytes that loads moved, over the time in which one of them was in flight.

    The source divides the bytes read by the active time of DMAs, once with and once without those
    with static descriptors. It does not say which of the two it reports; with the stores of the
    sums, 4 bytes per partition, the smallest transfers could not be as fast as it says.
    """
    moved = sum(timing["dma_load_bytes"] for timing in timings)
    return moved / (1e3 * sum(timing["dma_load_active_us"] for timing in timings))


def busy_engine(timings: Timings) -> float:
    """Microseconds that the DMA engines were busy, summed over them."""
    return sum(t["utilisation"]["DMA"] * t["body_us"] * DMA_ENGINES for t in timings)


def slope(steps: int) -> Callable[[Timings], float]:
    """Microseconds per step, from two launches that differ by `steps` steps."""
    return lambda timings: (timings[1]["body_us"] - timings[0]["body_us"]) / steps


def match(measurement: Measurement) -> Case | None:
    """Tries the tests one after the other."""
    if measurement.family != "dma":
        return None
    for read in (_chase, _strided, _exponential, _stream, _bulk):
        case = read(measurement)
        if case is not None:
            return case
    return None


def _pair(measurement: Measurement, build: Callable[[int], _core.Program]) -> Case:
    """The slope between 8 and 32 steps: the source fits latency against the number of steps."""
    stack = published_stack(measurement)
    launches = tuple(Launch(partial(build, n), stack) for n in (8, 32))
    return Case(measurement, launches, slope(24))


def _chase(measurement: Measurement) -> Case | None:
    if not re.search(r"pointer.?chase", measurement.text):
        return None
    ring = wording.number(measurement.text, "ring_length", "ring") or 1024
    return _pair(
        measurement, lambda n: build_pointer_chase(measurement.architecture, n, max(ring, 2))
    )


def _strided(measurement: Measurement) -> Case | None:
    stride = wording.number(measurement.text, r"stride[- ]")
    sizes = _tile(measurement)
    if "store" not in measurement.text or not stride or stride < 2 or sizes is None:
        return None
    partitions, columns, dtype = sizes

    def build() -> _core.Program:
        return build_strided_store(measurement.architecture, partitions, columns, stride, dtype)

    launch = Launch(build, published_stack(measurement))
    return Case(measurement, (launch,), total("latency_us"))


def _exponential(measurement: Measurement) -> Case | None:
    """tensor_exp_kernel_isa, of which only the load was measured."""
    sizes = next((s for s in wording.shapes(measurement.shapes) if len(s) == 2), None)
    dtype = wording.dtype(measurement.dtype)
    if "tensor_exp_kernel" not in measurement.text or "load" not in measurement.metric:
        return None
    if sizes is None or dtype is None or "busy" not in measurement.metric:
        return None
    launch = Launch(
        lambda: build_load(measurement.architecture, *sizes, dtype), published_stack(measurement)
    )
    return Case(measurement, (launch,), busy_engine)


def _stream(measurement: Measurement) -> Case | None:
    size = re.search(r"(\d+)\s*(gib|mib)", measurement.shapes.lower())
    if "memory_read" not in measurement.text or size is None:
        return None
    amount = int(size.group(1)) * (GIBIBYTE if size.group(2) == "gib" else 1 << 20)
    tiles = amount // (4 * STREAM_TILE[0] * STREAM_TILE[1])
    if tiles == 0:
        return None
    launch = Launch(
        lambda: build_stream(measurement.architecture, tiles), published_stack(measurement)
    )
    # total_active_time: from the first to the last activity of the core.
    return Case(measurement, (launch,), total("body_us"))


def _bulk(measurement: Measurement) -> Case | None:
    text, sizes = measurement.text, _tile(measurement)
    if sizes is None or "dma_" not in text or "transpose" in text or "roundtrip" in text:
        return None
    partitions, columns, dtype = sizes
    written = "write" in text or "sbuf->hbm" in text or "sbuf_to_hbm" in text
    mode = "write" if written else "read"
    kernel = BulkCopy(
        measurement.architecture, mode, partitions, columns, _repeat(text, mode), dtype
    )
    launch = Launch(kernel.build, published_stack(measurement))
    if "gb/s" in measurement.unit.lower():
        reading = read_bytes_per_active_time if mode == "read" else bytes_per_active_time
        return Case(measurement, (launch,), reading)
    return Case(measurement, (launch,), total("latency_us"))


def _repeat(text: str, mode: str) -> int:
    """How often the suite repeats a transfer: by its texts, else by its configurations."""
    found = re.search(r"(\d+) repeats", text) or re.search(r"repeat\s*=?\s*(\d+)", text)
    if found:
        return int(found.group(1))
    if "single" in text or "one transfer" in text:
        return 1
    if mode == "read" and "surface" in text:
        return 1
    return 16 if mode == "write" and "surface" in text else 4


def _tile(measurement: Measurement) -> tuple[int, int, str] | None:
    """Partitions, columns and dtype of "128 x 4096 B" (bytes) or "128 x 1024" (elements)."""
    found = re.search(r"(\d+)\s*x\s*(\d+)\s*(b\b|bytes)?", measurement.shapes.lower())
    dtype = wording.dtype(measurement.dtype or "float32")
    if found is None or dtype is None:
        return None
    partitions, columns = int(found.group(1)), int(found.group(2))
    if found.group(3):
        columns //= wording.ITEM_BYTES[dtype]
    return (partitions, columns, dtype) if 0 < partitions <= 128 and columns > 0 else None
