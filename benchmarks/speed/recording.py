"""Rows of the timeline: timing only, recording of launches, the page of a convolution."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from neuron_sim.timeline.page import read_timeline

from speed.figures import Figure, ratio
from speed.networks import on_device, resnet
from speed.products import DTYPES, convolution_tensors, device_convolution
from speed.sizes import Sizes
from speed.timing import Work, alternate, seconds

TIMELINE_RATE = Path(__file__).resolve().parents[2] / "build/release/benchmarks/timeline_rate"
RATE = re.compile(r"(float\d+), batch 1: .* full walk ([\d.]+) million/s", re.MULTILINE)
EVENTS_OF_AN_ELEMENT = 10  # 9.998 on trn2
BROWSER_OPTIONS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")


def timing_only(sizes: Sizes) -> list[Figure]:
    """Instances per second of the convolution, walked in full by benchmarks/timeline_rate.cpp."""
    command = [str(TIMELINE_RATE), str(sizes.image), str(sizes.walks)]
    try:
        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    except FileNotFoundError:
        return [Figure(name, None, note="`make build` compiles it") for name in ("fp32", "fp16")]
    print(printed, end="", file=sys.stderr)
    rates = {dtype: float(rate) for dtype, rate in RATE.findall(printed)}
    return [Figure("fp32", rates["float32"]), Figure("fp16", rates["float16"])]


@torch.no_grad()
def recorded_launches(sizes: Sizes) -> list[Figure]:
    """Calls in record_launches() against the same without."""
    x = torch.ones(64, device="neuron_sim")
    network, image = on_device(*resnet(sizes))
    convolution = device_convolution(convolution_tensors(sizes), DTYPES["fp32"])
    add = [each * 1e6 for each in _recorded(lambda: torch.add(x, x), 3, sizes.calls)]
    return [
        ratio("add", *add, "us"),
        ratio("convolution", *_recorded(convolution, sizes.repetitions), "s"),
        ratio("resnet50", *_recorded(lambda: network(image), sizes.repetitions), "s"),
    ]


def _recorded(work: Work, repetitions: int, calls: int = 1) -> list[float]:
    """Seconds of one of `calls` calls, recorded and not."""

    def unrecorded() -> None:
        for _ in range(calls):
            work()

    def recorded() -> None:
        with torch.neuron_sim.record_launches():
            unrecorded()

    return [each / calls for each in alternate([recorded, unrecorded], repetitions)]


def convolution_launch(sizes: Sizes) -> Any:
    """The recorded launch of the convolution in fp32; computes no bytes."""
    with torch.neuron_sim.timing_only(), torch.neuron_sim.record_launches() as launches:
        device_convolution(convolution_tensors(sizes), DTYPES["fp32"])()
    return launches[-1]


def long_launch(sizes: Sizes) -> Any:
    """The launch of an addition with that many events: two loads, an addition and a store per
    element, with their triggers and waits."""
    with torch.neuron_sim.timing_only(), torch.neuron_sim.record_launches() as launches:
        x = torch.empty(sizes.events // EVENTS_OF_AN_ELEMENT, device="neuron_sim")
        torch.ops.neuron_sim.vector_add(x, x, variant="tiled", row_chunk=1)
    return launches[-1]


def timeline_page(sizes: Sizes) -> list[Figure]:
    """Writing its page, reading it back with Python, drawing it in a browser."""
    launch = convolution_launch(sizes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "timeline.html"
        writing, reading = alternate(
            [lambda: launch.write_timeline(path), lambda: read_timeline(path)],
            min(sizes.repetitions, 3),
        )
        return [
            Figure("writing", writing),
            Figure("size", path.stat().st_size / 1e6),
            Figure("reading", reading),
            _opening("opening", path, sizes),
            *_million_events(Path(folder) / "long.html", sizes),
        ]


def _million_events(path: Path, sizes: Sizes) -> list[Figure]:
    long_launch(sizes).write_timeline(path)
    size = Figure("million, size", path.stat().st_size / 1e6)
    return [size, _opening("million, opening", path, sizes)]


def _opening(name: str, path: Path, sizes: Sizes) -> Figure:
    """Wall time from the address to the drawn page; the browser's processes are not ours."""
    chromium = shutil.which("chromium")
    try:
        # Only `make test-browser` installs it.
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None or not sizes.browser:
        return Figure(name, None, note="`make test-browser` installs the browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*BROWSER_OPTIONS])

        def opening() -> float:
            page = browser.new_page()

            def drawn() -> None:
                page.goto(path.as_uri())
                page.wait_for_selector("html[data-ready]", timeout=120_000)

            took = seconds(drawn, clock=time.perf_counter)
            page.close()
            return took

        times = [opening() for _ in range(4)]
        browser.close()
    return Figure(name, min(times[1:]), note="wall time")
