"""Throughput of one engine: many instructions on operands that stay on the chip.

Source: microbench/inf2_nki/tests/engine_ops of Deep-Learning-Profiling-Tools/triton-viz, with the
sizes of its configs/engine_compute.json and engine_free_sweep.json.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from neuron_sim import _core
from neuron_sim.fidelity import wording
from neuron_sim.fidelity.case import Case, Launch, Timings
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.stacks import published_stack

REPEAT = 16
PSUM_BANKS = 8
PARTITIONS = 128
COLUMNS = 2048
"""Free size of the elementwise tests."""


@dataclass(frozen=True)
class EngineTest:
    """`repeat` instructions of one kind."""

    architecture: str
    engine: str
    """Tensor, Scalar or Vector."""
    mode: str
    """chain: each reads the previous result; stream: they are independent; two_inputs: a
    stream of tensor_tensor."""
    sizes: tuple[int, ...]
    """(m, k, n) of a product, (partitions, columns) of anything else."""
    repeat: int
    dtype: str

    @property
    def work(self) -> float:
        """Flops of all products, elements of anything else."""
        factor = 2 if self.engine == "Tensor" else 1
        for size in self.sizes:
            factor *= size
        return float(factor * self.repeat)

    def build(self) -> _core.Program:
        """The kernel in program order."""
        builder = _core.Builder(f"{self.engine.lower()}_{self.mode}", self.architecture)
        getattr(self, f"_{self.engine.lower()}")(builder)
        return builder.finish()

    def _load(self, builder: _core.Builder, label: str, shape: list[int]) -> _core.View:
        tile = builder.sbuf(label, shape, self.dtype)
        builder.dma_copy(tile, builder.argument(label, shape, self.dtype))
        return tile

    def _tensor(self, builder: _core.Builder) -> None:
        m, k, n = self.sizes
        stationary = self._load(builder, "lhs", [k, m])
        moving = self._load(builder, "rhs", [k, n])
        chained = self.mode == "chain"
        out = builder.argument("out", [1 if chained else self.repeat, m, n], self.dtype)
        if chained:
            sums = builder.psum("acc", [m, n])
            for _ in range(self.repeat):
                builder.nc_matmul(sums, stationary, moving)
            self._evict(builder, sums, out[0], "sb")
            return
        tiles = [builder.psum(f"psum{i}", [m, n]) for i in range(min(self.repeat, PSUM_BANKS))]
        for start in range(0, self.repeat, PSUM_BANKS):
            group = range(start, min(start + PSUM_BANKS, self.repeat))
            for i in group:
                builder.nc_matmul(tiles[i - start], stationary, moving, accumulate=False)
            for i in group:
                self._evict(builder, tiles[i - start], out[i], f"sb{i}")

    def _evict(
        self, builder: _core.Builder, source: _core.View, out: _core.View, label: str
    ) -> None:
        copy = builder.sbuf(label, list(source.shape), self.dtype)
        builder.tensor_copy(copy, source, engine="vector")
        builder.dma_copy(out, copy)

    def _scalar(self, builder: _core.Builder) -> None:
        shape = list(self.sizes)
        base = self._load(builder, "x", shape)
        out = builder.argument("out", shape, self.dtype)
        results = []
        for i in range(self.repeat):
            result = builder.sbuf(f"exp{i}", shape, self.dtype)
            chained = self.mode == "chain"
            source = results[-1] if chained and results else base
            builder.activation(result, "exp", source, scale=0.001 if chained else float(i + 1))
            results.append(result)
        if self.mode == "chain":
            builder.dma_copy(out, results[-1])
            return
        kept = results[0]  # every result is observable: Vector adds them up
        folds = [builder.sbuf(f"fold{i}", shape, self.dtype) for i in range(2)]
        for i in range(1, self.repeat):
            fold = folds[i % 2]
            builder.tensor_tensor(fold, kept, results[i], "add", engine="vector")
            kept = fold
        builder.dma_copy(out, kept)

    def _vector(self, builder: _core.Builder) -> None:
        shape = list(self.sizes)
        base = self._load(builder, "x", shape)
        chained = self.mode == "chain"
        out = builder.argument("out", [1 if chained else self.repeat, *shape], self.dtype)
        results = [base]
        for i in range(self.repeat):
            result = builder.sbuf(f"sum{i}", shape, self.dtype)
            if self.mode == "stream":
                builder.tensor_scalar(result, base, "add", float(i + 1), engine="vector")
            else:
                source = results[-1] if chained else base
                builder.tensor_tensor(result, source, base, "add", engine="vector")
            results.append(result)
        for i, result in enumerate([results[-1]] if chained else results[1:]):
            builder.dma_copy(out[i], result)


def _reading(test: EngineTest, unit: str) -> Callable[[Timings], float]:
    """Work per time in which the engine was active, or that time per instruction."""

    def active(timings: Timings) -> float:
        return sum(t["utilisation"][test.engine] * t["body_us"] for t in timings)

    scale = {"tflop/s": 1e-6, "gflop/s": 1e-3, "gelem/s": 1e-3}.get(unit.lower())
    if scale is None:
        return lambda timings: active(timings) / test.repeat
    return lambda timings: test.work * scale / active(timings)


def match(measurement: Measurement) -> Case | None:
    """Reads the test, its mode, sizes and dtype."""
    if measurement.family != "engine":
        return None
    test = _read(measurement)
    if test is None:
        return None
    launch = Launch(test.build, published_stack(measurement))
    return Case(measurement, (launch,), _reading(test, measurement.unit))


def _read(measurement: Measurement) -> EngineTest | None:
    text = measurement.text
    dtype = wording.dtype(measurement.dtype) or wording.dtype(text)
    known = {"matmul": "Tensor", "exp": "Scalar", "vector_add": "Vector", "vectore": "Vector"}
    engine = next((name for word, name in known.items() if word in text), None)
    if engine is None or dtype is None:
        return None
    chained = "dependent" in re.sub(r"\bindependent", "", text) or "accumulat" in text
    mode = "chain" if chained else "stream"
    if engine == "Vector" and mode == "stream" and re.search(r"two.?input|tensor_tensor", text):
        mode = "two_inputs"
    sizes = _sizes(text, engine)
    repeat = wording.number(text, "repeat") or REPEAT
    if engine == "Tensor" and "independent" not in text:
        mode = "chain"  # "sustained": only the accumulating test repeats long enough
    return EngineTest(measurement.architecture, engine, mode, sizes, repeat, dtype)


def _sizes(text: str, engine: str) -> tuple[int, ...]:
    if engine == "Tensor":
        found = re.search(r"(\d+)\s*x\s*(\d+)\s*x\s*(\d+)", text)
        return tuple(map(int, found.groups())) if found else (128, 128, 512)
    found = re.search(r"(\d+)\s*x\s*(\d+)", text)
    if found:
        return tuple(map(int, found.groups()))
    return (PARTITIONS, wording.number(text, "f", "free", "free_dim") or COLUMNS)
