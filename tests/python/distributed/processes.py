"""Starts the processes of a group and collects what their cases returned."""

import os
import subprocess
import sys
from pathlib import Path

import torch
from distributed_cases import WORLD

_TESTS = os.path.dirname(os.path.dirname(__file__))


def run_python(*arguments, **environment) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": _TESTS, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def results_of(script: str, folder: Path) -> list[dict]:
    """What every case of `script`, which ends in distributed_cases.main, returned or raised in
    each process of a group, by rank."""
    processes = [run_python(script, folder, rank, NEURON_SIM_ARCH="trn2") for rank in range(WORLD)]
    for process in processes:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
    return [torch.load(folder / f"results{rank}.pt") for rank in range(WORLD)]
