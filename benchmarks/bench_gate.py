"""Host speed of the device, side by side with torch's CPU kernels in the same run.

Prints the convolution 256->256 3x3 224x224 (bytes and time) against torch's conv2d, in fp32, fp16
and bf16, and the cost of a cached small vector_add through torch.ops.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import neuron_sim.torch_device  # noqa: F401  (the device, also without autoload)
import torch

REPETITIONS = 7


def alternately(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """Median seconds of both, run in turn after one warm-up each."""
    times: tuple[list[float], list[float]] = ([], [])
    for repetition in range(REPETITIONS + 1):
        for function, results in zip((first, second), times, strict=True):
            start = time.perf_counter()
            function()
            if repetition > 0:
                results.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def convolution_tensors(dtype: torch.dtype) -> list[torch.Tensor]:
    """Input [1, 256, 224, 224], weight [256, 256, 3, 3] and bias [256]."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((1, 256, 224, 224), (256, 256, 3, 3), (256,))
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def bench_convolution() -> None:
    """Device in fp32 against torch in fp32; device in 16 bits against device in fp32."""
    convolution = torch.ops.neuron_sim.conv2d_maxpool
    host = convolution_tensors(torch.float32)
    device = [tensor.to("neuron_sim") for tensor in host]
    ours, torchs = alternately(
        lambda: convolution(*device, 1), lambda: torch.nn.functional.conv2d(*host)
    )
    print(
        f"convolution fp32: neuron_sim {ours:.3f} s, torch CPU {torchs:.3f} s, "
        f"ratio {ours / torchs:.2f} (gate: at most 1.00)"
    )
    for dtype in (torch.float16, torch.bfloat16):
        narrow = [tensor.to("neuron_sim") for tensor in convolution_tensors(dtype)]
        low, full = alternately(
            lambda narrow=narrow: convolution(*narrow, 1), lambda: convolution(*device, 1)
        )
        print(
            f"convolution {dtype}: neuron_sim {low:.3f} s, neuron_sim fp32 {full:.3f} s, "
            f"ratio {low / full:.2f} (limit: at most 1.40)"
        )


def bench_small_op() -> None:
    """A cached vector_add of 128 elements through the dispatcher."""
    a = torch.ones(128, device="neuron_sim")
    vector_add = torch.ops.neuron_sim.vector_add
    for _ in range(200):
        vector_add(a, a)
    calls = 2000
    rounds = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        for _ in range(calls):
            vector_add(a, a)
        rounds.append((time.perf_counter() - start) / calls)
    print(
        f"cached vector_add of 128 elements: {statistics.median(rounds) * 1e6:.1f} us per call "
        "(gate: at most 30)"
    )


if __name__ == "__main__":
    with torch.no_grad():
        bench_small_op()
        bench_convolution()
