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
from speed.products import DTYPES, convolution_tensors, device_convolution
from speed.sizes import Sizes
from speed.timing import alternate, seconds

TIMELINE_RATE = Path(__file__).resolve().parents[2] / "build/release/benchmarks/timeline_rate"
RATE = re.compile(r"(float\d+), batch 1: .* full walk ([\d.]+) million/s", re.MULTILINE)
BROWSER_OPTIONS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")


def timing_only(sizes: Sizes) -> list[Figure]:
    """Instances per second of the convolution, walked in full by benchmarks/timeline_rate.cpp."""
    command = [str(TIMELINE_RATE), str(sizes.image), str(sizes.repetitions)]
    try:
        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    except FileNotFoundError:
        return [Figure(name, None, note="`make build` compiles it") for name in ("fp32", "fp16")]
    print(printed, end="", file=sys.stderr)
    rates = {dtype: float(rate) for dtype, rate in RATE.findall(printed)}
    return [Figure("fp32", rates["float32"]), Figure("fp16", rates["float16"])]


def recorded_launches(sizes: Sizes) -> list[Figure]:
    """A cached add in record_launches() against the same without."""
    x = torch.ones(64, device="neuron_sim")

    def recorded() -> None:
        with torch.neuron_sim.record_launches():
            for _ in range(sizes.calls):
                torch.add(x, x)

    def unrecorded() -> None:
        for _ in range(sizes.calls):
            torch.add(x, x)

    spent = [each / sizes.calls * 1e6 for each in alternate([recorded, unrecorded], 3)]
    return [ratio("add", *spent, "us")]


def convolution_launch(sizes: Sizes) -> Any:
    """The recorded launch of the convolution in fp32; computes no bytes."""
    with torch.neuron_sim.timing_only(), torch.neuron_sim.record_launches() as launches:
        device_convolution(convolution_tensors(sizes), DTYPES["fp32"])()
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
            _opening(path, sizes),
        ]


def _opening(path: Path, sizes: Sizes) -> Figure:
    """Wall time from the address to the drawn page; the browser's processes are not ours."""
    chromium = shutil.which("chromium")
    try:
        # Only `make test-browser` installs it.
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None or not sizes.browser:
        return Figure("opening", None, note="`make test-browser` installs the browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*BROWSER_OPTIONS])

        def open_page() -> None:
            page = browser.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]", timeout=120_000)
            page.close()

        times = [seconds(open_page, clock=time.perf_counter) for _ in range(4)]
        browser.close()
    return Figure("opening", min(times[1:]), note="wall time")
