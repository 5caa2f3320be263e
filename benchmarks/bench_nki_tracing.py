"""The cost of an instruction that a Python kernel emits, in both NKI languages.

Traces kernels of about 10,000 instructions in the forms that users write and prints the processor
time per instruction: of the whole trace (the body of the kernel, automatic placement and finishing
of the program) and of instructions through `_core.Builder` without a front end, in the same run.
Exits with 1 when a kernel costs more than the limit per instruction. Also prints the cost of
a whole kernel call: traced, compiled and run the first time, found in the cache later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as nl
import neuron_sim.nki.launch.program_cache as cache
import nki_new_kernels
import nki_old_kernels
import numpy as np
from neuron_sim import _core  # type: ignore[attr-defined]

INSTRUCTIONS = 10_000
REPETITIONS = 7
LIMIT_US = 5.0
COLUMNS = 512
ROWS = 1024


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


def seconds(function: Callable[[], object], repetitions: int = REPETITIONS) -> float:
    """Minimum processor time of a call: other programs on the machine only add to it."""
    times = []
    for repetition in range(repetitions + 1):
        start = time.thread_time()
        function()
        if repetition > 0:
            times.append(time.thread_time() - start)
    return min(times)


def microseconds(function: Callable[[], object]) -> float:
    """Microseconds per instruction of the builder's kernels."""
    return seconds(function) / INSTRUCTIONS * 1e6


@old.jit
def scaled_rows(a: Any, factor: float) -> Any:
    """A kernel of the usual size: 8 tiles, each loaded, computed in three steps and stored."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(128)[:, None], nl.arange(COLUMNS)[None, :]
    for i in nl.affine_range(a.shape[0] // 128):
        x = nl.load(a[i * 128 + i_p, i_f])
        total = nl.sum(nl.exp(x), axis=1, keepdims=True)
        nl.store(out[i * 128 + i_p, i_f], nl.multiply(x, total) * factor)
    return out


def bench_calls() -> None:
    """The cost of a call of a kernel that was traced before, next to its first call."""
    a = np.ones((ROWS, COLUMNS), np.float32)
    call = scaled_rows.call(a, 0.5)
    cache.clear()
    program = call.trace()

    def compile_anew() -> None:
        call.trace_anew().program  # noqa: B018 - created on first access

    tracing = seconds(call.trace_anew, 50)
    compilation = seconds(compile_anew, 50) - tracing
    binding = seconds(lambda: scaled_rows.call(a, 0.5), 50)
    lookup = seconds(call.trace, 50)
    start = time.perf_counter()
    program.run(call.arrays)
    running = time.perf_counter() - start
    hits = cache.info()["hits"]
    scaled_rows(a, 0.5)
    found = "from the cache" if cache.info()["hits"] == hits + 1 else "NOT from the cache"
    first, again = binding + tracing, binding + lookup
    print(
        f"NKI, a call of {scaled_rows.__name__}: arguments {binding * 1e6:.0f} us, tracing "
        f"{tracing * 1e6:.0f} us, compilation (when it is timed) {compilation * 1e6:.0f} us, "
        f"look-up in the cache {lookup * 1e6:.0f} us, computing {running * 1e6:.0f} us"
    )
    print(
        f"NKI, a second call is {found}: {again * 1e6:.0f} us before it computes, ratio to the "
        f"first {again / first:.2f}, to computing {again / running:.2f}"
    )


def bench() -> None:
    """Every kernel against the builder alone."""
    a = np.ones((128, COLUMNS), np.float32)
    alone = microseconds(through_the_builder)
    new_tiles = microseconds(new_tiles_through_the_builder)
    print(f"NKI, builder alone: {alone:.2f} us per instruction, to new tiles {new_tiles:.2f} us")
    above = 0
    for language, module in (("new", nki_new_kernels), ("old", nki_old_kernels)):
        for kernel in module.KERNELS:
            call = kernel.call(a)
            emitted = call.trace_anew().source.listing().count("(dst=")
            whole = seconds(call.trace_anew) / emitted * 1e6
            verdict = "within" if whole <= LIMIT_US else "ABOVE"
            above += whole > LIMIT_US
            print(
                f"NKI, {language} {kernel.__name__}: {whole:.2f} us per instruction, {verdict} the "
                f"limit of {LIMIT_US:.0f}; ratio to the builder {whole / alone:.1f}"
            )
    bench_calls()
    if above:
        raise SystemExit(f"NKI: {above} kernels cost more than {LIMIT_US:.0f} us per instruction")


if __name__ == "__main__":
    bench()
