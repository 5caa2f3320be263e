"""Which simulators run, and what each computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Simulator:
    """A row of each problem that it takes."""

    name: str
    program: str
    """A file of this folder, which answers a problem."""
    package: str
    """Its distribution; "" for this project's own."""
    computes: str
    options: dict[str, Any] = field(default_factory=dict)
    """What its program takes beside the problem."""
    kinds: tuple[str, ...] = ("matmul", "convolution")
    runs: int = 6
    """Runs of each problem in one process."""


SIMULATORS = (
    Simulator(
        "neuron_sim",
        "neuron.py",
        "",
        "values and time: every instruction of trn2, its bytes and its start and end",
        {"mode": "run"},
    ),
    Simulator(
        "neuron_sim, timing only",
        "neuron.py",
        "",
        "time: the same without values, which a later run takes from a cache",
        {"mode": "timing_only"},
        runs=1,
    ),
    Simulator(
        "SCALE-Sim",
        "scale_sim.py",
        "scalesim",
        "time: cycles of a weight-stationary array of 128 x 128 and of its buffers, from the "
        "address of every operand in every cycle; no values",
        runs=1,
    ),
    Simulator(
        "Pallas, interpret=True",
        "pallas.py",
        "jax",
        "values: the kernel's grid as a loop that XLA compiles for the host; no time",
        {"mode": "interpret"},
        kinds=("matmul",),
    ),
    Simulator(
        "Pallas, InterpretParams()",
        "pallas.py",
        "jax",
        "values, with the memories, DMAs and semaphores of a TPU; no time",
        {"mode": "tpu_interpret"},
        kinds=("matmul",),
    ),
)
