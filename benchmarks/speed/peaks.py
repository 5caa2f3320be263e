"""Rows that need a fresh process, most for its peak memory: `python -m speed.peaks NAME SIZES`."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from speed.figures import Figure
from speed.sizes import Sizes

PATHS = (Path(__file__).resolve().parents[1], Path(__file__).resolve().parents[2] / "models")
"""The folders of modules that the rows import."""


def status_megabytes(key: str) -> float:
    """A field of /proc/self/status, VmHWM or VmRSS. A child inherits ru_maxrss from its parent."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(rf"^{key}:\s*(\d+) kB$", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"/proc/self/status has no {key} in kB.")
    return int(found[1]) * 1024 / 1e6


def resnet_on_torch(sizes: Sizes) -> dict[str, float]:
    """The process with torch alone."""
    # Here, because the other workers need no networks.
    import torch

    from speed.networks import resnet

    torch.set_num_threads(1)
    network, image = resnet(sizes)
    with torch.no_grad():
        network(image)
    return {"peak": status_megabytes("VmHWM")}


def resnet_on_device(sizes: Sizes) -> dict[str, float]:
    """The process with the network on the device."""
    import torch

    from speed.networks import resnet

    torch.set_num_threads(1)
    network, image = resnet(sizes)
    network, image = network.to("neuron_sim"), image.to("neuron_sim")
    with torch.no_grad():
        network(image)
    return {"peak": status_megabytes("VmHWM")}


def long_trace(sizes: Sizes) -> dict[str, float]:
    """Seconds and growth of a process that traces and compiles one long kernel."""
    from speed import tracing

    call = tracing.nki_new_kernels.whole_tiles.call(tracing.argument())
    with tracing.instructions(40):
        tracing.trace_and_compile(call)
    before = status_megabytes("VmRSS")
    with tracing.instructions(sizes.long_trace):
        _, traced, compiled = tracing.trace_and_compile(call)
    return {
        "tracing": traced,
        "passes": compiled,
        "growth": status_megabytes("VmHWM") - before,
    }


def in_a_process(worker: Callable[[Sizes], dict[str, float]], sizes: Sizes) -> dict[str, float]:
    """The worker's result in a fresh process with one thread. CalledProcessError if it fails."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, PATHS))}
    environment["NEURON_SIM_THREADS"] = "1"
    environment["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0" if worker is resnet_on_torch else "1"
    name = f"{worker.__module__}:{worker.__name__}"
    given = json.dumps(dataclasses.asdict(sizes))
    done = subprocess.run(
        [sys.executable, "-m", "speed.peaks", name, given],
        env=environment, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def resnet_memory(sizes: Sizes) -> list[Figure]:
    """What the device's process takes more than torch's."""
    ours = in_a_process(resnet_on_device, sizes)["peak"]
    torchs = in_a_process(resnet_on_torch, sizes)["peak"]
    return [Figure("above torch's", ours - torchs, ours, torchs, "MB")]


def traced_instructions(sizes: Sizes) -> list[Figure]:
    """Time and memory of one long kernel."""
    found = in_a_process(long_trace, sizes)
    spent = found["tracing"] + found["passes"]
    note = f"tracing {found['tracing']:.2f} s, passes {found['passes']:.2f} s"
    return [Figure("time", spent, note=note), Figure("memory", found["growth"])]


if __name__ == "__main__":
    module, function = sys.argv[1].split(":")
    worker = getattr(importlib.import_module(module), function)
    print(json.dumps(worker(Sizes(**json.loads(sys.argv[2])))))
