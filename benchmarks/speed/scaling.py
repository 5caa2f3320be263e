"""Rows with two threads against one: wall time, and the processor time of the busiest thread."""

from __future__ import annotations

import os
import time

import torch

from speed.figures import Figure, ratio
from speed.networks import on_device, resnet
from speed.products import DTYPES, convolution_tensors, device_convolution, matmul_works
from speed.sizes import Sizes
from speed.timing import Work, seconds, set_threads, threads

THREADS = 2
CASES = ("convolution", "matmul", "ResNet-50")
FIGURES = {
    "instructions": "per run",
    "wall": "times as fast",
    "processor": "times as fast",
    "torch, wall": "times as fast",
}
"""The figures of each case, with their units."""


def thread_seconds() -> dict[int, float]:
    """Processor time of each thread of this process, by its number."""
    names = [int(name) for name in os.listdir("/proc/self/task")]
    # As pthread_getcpuclockid makes a clock of a thread.
    return {name: time.clock_gettime((~name << 3) | 6) for name in names}


def busiest_thread(work: Work) -> float:
    """Processor time that the thread with the largest share spends on it."""
    before = thread_seconds()
    work()
    return max(spent - before.get(name, 0) for name, spent in thread_seconds().items())


def _pair(ours: Work, torchs: Work, repetitions: int, name: str) -> list[Figure]:
    """One thread and two in turn; the minimum of each. Also the instructions of one run."""
    best: dict[tuple[str, int], float] = {}
    for repetition in range(repetitions + 1):
        for count in (1, THREADS):
            set_threads(count, count)
            start = time.perf_counter()
            spent = {"busiest": busiest_thread(ours)}
            spent["ours"] = time.perf_counter() - start
            spent["torch"] = seconds(torchs, clock=time.perf_counter)
            for what, value in spent.items():
                if repetition > 0:
                    best[what, count] = min(best.get((what, count), value), value)
    with torch.neuron_sim.record_launches() as launches:
        ours()
    return [
        Figure(f"{name}, instructions", sum(launch.instructions for launch in launches)),
        ratio(f"{name}, wall", best["ours", 1], best["ours", THREADS], "s"),
        ratio(f"{name}, processor", best["busiest", 1], best["busiest", THREADS], "s"),
        ratio(f"{name}, torch, wall", best["torch", 1], best["torch", THREADS], "s"),
    ]


@torch.no_grad()
def scaling(sizes: Sizes) -> list[Figure]:
    """The convolution and the product in fp32, ResNet-50 eager."""
    host = convolution_tensors(sizes)
    network, image = resnet(sizes)
    device_network, device_image = on_device(network, image)
    works = (
        (device_convolution(host, DTYPES["fp32"]), lambda: torch.nn.functional.conv2d(*host)),
        matmul_works(sizes),
        (lambda: device_network(device_image), lambda: network(image)),
    )
    with threads(1):
        figures = [
            _pair(*work, min(sizes.long_repetitions, 2), name)
            for name, work in zip(CASES, works, strict=True)
        ]
    return [figure for case in figures for figure in case]
