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
PARTITIONS = 128
COLUMNS = 2048
"""Free size of the elementwise tests."""


@dataclass(frozen=True)
class EngineTest:
    """`repeat` instructions of one kind."""

    architecture: str
    engine: str
    """Tensor or Scalar."""
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
        builder = _core.Builder(f"{self.engine.lower()}_repeated", self.architecture)
        getattr(self, f"_{self.engine.lower()}")(builder)
        return builder.finish()

    def _load(self, builder: _core.Builder, label: str, shape: list[int]) -> _core.View:
        tile = builder.sbuf(label, shape, self.dtype)
        builder.dma_copy(tile, builder.argument(label, shape, self.dtype))
        return tile

    def _tensor(self, builder: _core.Builder) -> None:
        """Products that are added up: only this test of the source repeats long enough."""
        m, k, n = self.sizes
        stationary = self._load(builder, "lhs", [k, m])
        moving = self._load(builder, "rhs", [k, n])
        out = builder.argument("out", [1, m, n], self.dtype)
        sums = builder.psum("acc", [m, n])
        for _ in range(self.repeat):
            builder.nc_matmul(sums, stationary, moving)
        copy = builder.sbuf("sb", [m, n], self.dtype)
        builder.tensor_copy(copy, sums, engine="vector")
        builder.dma_copy(out[0], copy)

    def _scalar(self, builder: _core.Builder) -> None:
        """Independent exponentials; every result is observable: Vector adds them up."""
        shape = list(self.sizes)
        base = self._load(builder, "x", shape)
        out = builder.argument("out", shape, self.dtype)
        results: list[_core.View] = []
        for i in range(self.repeat):
            results.append(builder.sbuf(f"exp{i}", shape, self.dtype))
            builder.activation(results[-1], "exp", base, scale=float(i + 1))
        kept = results[0]
        folds = [builder.sbuf(f"fold{i}", shape, self.dtype) for i in range(2)]
        for i in range(1, self.repeat):
            fold = folds[i % 2]
            builder.tensor_tensor(fold, kept, results[i], "add", engine="vector")
            kept = fold
        builder.dma_copy(out, kept)


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
    engine = "Tensor" if "matmul" in text else "Scalar" if "exp" in text else None
    chained = "dependent" in re.sub(r"\bindependent", "", text) or "accumulat" in text
    if engine is None or dtype is None or (chained and engine == "Scalar"):
        return None
    repeat = wording.number(text, "repeat") or REPEAT
    return EngineTest(measurement.architecture, engine, _sizes(text, engine), repeat, dtype)


def _sizes(text: str, engine: str) -> tuple[int, ...]:
    if engine == "Tensor":
        found = re.search(r"(\d+)\s*x\s*(\d+)\s*x\s*(\d+)", text)
        return tuple(map(int, found.groups())) if found else (128, 128, 512)
    found = re.search(r"(\d+)\s*x\s*(\d+)", text)
    if found:
        return tuple(map(int, found.groups()))
    return (PARTITIONS, wording.number(text, "f", "free", "free_dim") or COLUMNS)
