"""neuron_sim on a problem: neuron.py PROBLEM.

PROBLEM is JSON as of problems.py; the answer on standard output is, too: processor seconds of each
run, and the simulated time.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

DEVICE = "neuron_sim"


def operator(problem: dict[str, Any]) -> Callable[[], torch.Tensor]:
    """What is run, on operands that are on the device already."""
    torch.manual_seed(0)
    if problem["kind"] == "matmul":
        a = torch.randn(problem["rows"], problem["inner"]).to(DEVICE)
        b = torch.randn(problem["inner"], problem["columns"]).to(DEVICE)
        return lambda: torch.mm(a, b)
    image = torch.randn(1, problem["inputs"], problem["height"], problem["width"]).to(DEVICE)
    kernel = problem["kernel"]
    weight = torch.randn(problem["outputs"], problem["inputs"], kernel, kernel).to(DEVICE)
    return lambda: torch.nn.functional.conv2d(image, weight, stride=problem["stride"])


def seconds(work: Callable[[], object]) -> float:
    """Seconds of the processor until the device is done."""
    start = time.process_time()
    work()
    torch.neuron_sim.synchronize()
    return time.process_time() - start


def main() -> None:
    problem = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    torch.neuron_sim.set_host_threads(1)
    torch.mm(torch.ones(8, 8, device=DEVICE), torch.ones(8, 8, device=DEVICE))
    only = torch.neuron_sim.timing_only() if problem["mode"] == "timing_only" else None
    with only or contextlib.nullcontext(), torch.no_grad():
        work = operator(problem)
        spent = [seconds(work) for _ in range(problem["runs"])]
        with torch.neuron_sim.record_launches() as launches:
            work()
    found = {"us": sum(each.latency_us for each in launches)}
    print(json.dumps({"seconds": spent, "found": found}))


if __name__ == "__main__":
    main()
