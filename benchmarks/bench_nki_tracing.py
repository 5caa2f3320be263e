"""What an instruction costs that a kernel in Python emits, in both NKI languages.

Traces kernels of 10,000 instructions and prints the processor time per instruction: of the whole
trace (the body of the kernel, automatic placement and finishing of the program) and of the same
instructions through `_core.Builder` without a front end, in the same run. Ends with 1 when a kernel
costs more than the limit per instruction, as that of the old language's results still do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from neuron_sim import _core  # type: ignore[attr-defined]

INSTRUCTIONS = 10_000
REPETITIONS = 5
LIMIT_US = 5.0
COLUMNS = 512
WIDTH = 64


@nki.jit
def new_whole_tiles(a: Any) -> Any:
    """Instructions on whole tiles, a quarter of each kind."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    y = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x, src=a)
    for _ in range(INSTRUCTIONS // 4):
        nisa.tensor_tensor(dst=y, data1=x, data2=x, op=nl.add)
        nisa.tensor_scalar(dst=x, data=y, op0=nl.multiply, operand0=0.5)
        nisa.activation(dst=y, op=nl.exp, data=x)
        nisa.tensor_copy(dst=x, src=y)
    nisa.dma_copy(dst=out, src=x)
    return out


@nki.jit
def new_slices(a: Any) -> Any:
    """The same on columns of the tiles."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    y = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x, src=a)
    for i in range(INSTRUCTIONS // 4):
        first = i % (COLUMNS // WIDTH) * WIDTH
        part, other = x[:, first : first + WIDTH], y[:, first : first + WIDTH]
        nisa.tensor_tensor(dst=other, data1=part, data2=part, op=nl.add)
        nisa.tensor_scalar(dst=part, data=other, op0=nl.multiply, operand0=0.5)
        nisa.activation(dst=other, op=nl.exp, data=part)
        nisa.tensor_copy(dst=part, src=other)
    nisa.dma_copy(dst=out, src=x)
    return out


@old.jit
def old_assignments(a: Any) -> Any:
    """Results that are assigned to tiles, as the older language has them."""
    out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
    x = old_nl.load(a)
    y = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.sbuf)
    for _ in old_nl.static_range(INSTRUCTIONS // 4):
        y[...] = old_nisa.tensor_tensor(x, x, op=np.add)
        x[...] = old_nisa.tensor_scalar(y, np.multiply, 0.5)
        y[...] = old_nisa.activation(np.exp, x)
        x[...] = old_nisa.tensor_copy(y)
    old_nl.store(out, x)
    return out


@old.jit
def old_operators(a: Any) -> Any:
    """Operators, whose results are new tiles."""
    out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
    x = old_nl.load(a)
    y = x
    for _ in old_nl.static_range(INSTRUCTIONS // 2):
        y = old_nl.exp(x)
        x = y * 0.5
    old_nl.store(out, x)
    return out


def through_the_builder() -> Any:
    """The instructions of new_whole_tiles without a front end."""
    builder = _core.Builder("direct", "trn2", placement="automatic")
    a = builder.argument("a", [128, COLUMNS], "float32")
    out = builder.argument("out", [128, COLUMNS], "float32")
    x, y = (builder.sbuf(name, [128, COLUMNS], "float32") for name in "xy")
    builder.dma_copy(x, a)
    for _ in range(INSTRUCTIONS // 4):
        builder.tensor_tensor(y, x, x, "add")
        builder.tensor_scalar(x, y, "multiply", 0.5)
        builder.activation(y, "exp", x)
        builder.tensor_copy(x, y)
    builder.dma_copy(out, x)
    return builder.finish()


def new_tiles_through_the_builder() -> Any:
    """The instructions of old_operators without a front end."""
    builder = _core.Builder("direct", "trn2", placement="automatic")
    a = builder.argument("a", [128, COLUMNS], "float32")
    out = builder.argument("out", [128, COLUMNS], "float32")
    x = builder.sbuf("x", [128, COLUMNS], "float32")
    builder.dma_copy(x, a)
    for _ in range(INSTRUCTIONS // 2):
        y = builder.sbuf("y", [128, COLUMNS], "float32")
        builder.activation(y, "exp", x)
        x = builder.sbuf("x", [128, COLUMNS], "float32")
        builder.tensor_scalar(x, y, "multiply", 0.5)
    builder.dma_copy(out, x)
    return builder.finish()


def microseconds(function: Callable[[], object]) -> float:
    """Least processor time per instruction: other programs of the machine only add to it."""
    times = []
    for repetition in range(REPETITIONS + 1):
        start = time.process_time()
        function()
        if repetition > 0:
            times.append((time.process_time() - start) / INSTRUCTIONS * 1e6)
    return min(times)


def bench() -> None:
    """Every kernel against the builder alone."""
    a = np.ones((128, COLUMNS), np.float32)
    alone = microseconds(through_the_builder)
    new_tiles = microseconds(new_tiles_through_the_builder)
    print(f"NKI, builder alone: {alone:.2f} us per instruction, to new tiles {new_tiles:.2f} us")
    above = 0
    for kernel in (new_whole_tiles, new_slices, old_assignments, old_operators):
        whole = microseconds(kernel.call(a).trace_anew)
        least = new_tiles if kernel is old_operators else alone
        verdict = "within" if whole <= LIMIT_US else "ABOVE"
        above += whole > LIMIT_US
        print(
            f"NKI, {kernel.__name__}: {whole:.2f} us per instruction, {verdict} the limit of "
            f"{LIMIT_US:.0f}; {whole - least:.2f} us over the builder, ratio {whole / least:.1f}"
        )
    if above:
        raise SystemExit(f"NKI: {above} kernels cost more than {LIMIT_US:.0f} us per instruction")


if __name__ == "__main__":
    bench()
