"""Networks with torch.compile(backend="neuron_sim") and the same networks operator by operator."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from zoo.catalogue import CATALOGUE, Model
from zoo.forward import DEVICE, first_output, relative_error

SPEED_UP_LIMIT = 1.3
"""Least speed-up of ResNet-18 and GPT-2 in the sum of kernel bodies."""
LIMITED = ("ResNet-18", "GPT-2")
ERROR_LIMIT = 3e-5
"""Largest relative difference to the results without torch.compile, in float32: the 53 batch
normalisations of ResNet-50, folded, round 1.6e-5 apart, and both are 1.9e-5 from float64."""
# TorchDynamo does not trace recurrent layers.
COMPILED = [model for model in CATALOGUE if model.name != "LSTM"]
TRAINED = [model for model in CATALOGUE if model.name in ("GPT-2", "U-Net")]

_NO_PASSES = dict.fromkeys(
    ("rename_buffers", "schedule", "hoist_loads", "forward_stores", "eliminate_copies"), 0
)
STAGES: dict[str, dict[str, Any]] = {
    "one program": {"fuse": False, "passes": _NO_PASSES},
    "joined": {"passes": _NO_PASSES},
    "scheduled": {"passes": {"forward_stores": 0, "eliminate_copies": 0}},
    "forwarded": {},
}
"""The options of each step from kernels one by one to the compiled program, in order."""


@dataclass
class Cost:
    """Launches of one run; simulated milliseconds, megabytes over the DMA engines."""

    launches: int
    body_ms: float
    moved_mb: float


@dataclass
class Compilation:
    """A network without torch.compile and after each step of it."""

    eager: Cost
    stages: dict[str, Cost]
    error: float
    """The error of the last stage, relative to the results without torch.compile."""

    @property
    def compiled(self) -> Cost:
        """The last stage: the result of torch.compile."""
        return list(self.stages.values())[-1]

    @property
    def speed_up(self) -> float:
        """Ratio of the sums of kernel bodies."""
        return self.eager.body_ms / self.compiled.body_ms

    def problem(self, name: str) -> str | None:
        """The problem, None if there is none."""
        if not self.error <= ERROR_LIMIT:
            return f"the compiled result differs by {self.error:.1e}, more than {ERROR_LIMIT:.0e}"
        if name in LIMITED and self.speed_up < SPEED_UP_LIMIT:
            return f"compiled it is {self.speed_up:.2f} times as fast, not {SPEED_UP_LIMIT}"
        return None


Pass = Callable[[nn.Module, list[Tensor]], list[Tensor]]


def measured(work: Callable[[], list[Tensor]]) -> tuple[Tensor, Cost]:
    """Runs `work` in strict mode: (its results as one vector on the CPU, its cost)."""
    with torch.neuron_sim.strict(), torch.neuron_sim.record_launches() as launches:
        results = work()
    return torch.cat([result.detach().cpu().flatten() for result in results]), Cost(
        launches=len(launches),
        body_ms=sum(launch.body_us for launch in launches) / 1e3,
        moved_mb=sum(launch.dma_bytes for launch in launches) / 1e6,
    )


def forward_pass(network: nn.Module, inputs: list[Tensor]) -> list[Tensor]:
    """The output in inference."""
    with torch.no_grad():
        return [first_output(network(*inputs))]


def training_pass(network: nn.Module, inputs: list[Tensor]) -> list[Tensor]:
    """Forward and backward of a loss; the gradients."""
    network.zero_grad()
    first_output(network(*inputs)).square().mean().backward()
    return [parameter.grad for parameter in network.parameters() if parameter.grad is not None]


def compile_model(
    model: Model,
    run: Pass = forward_pass,
    stages: dict[str, dict[str, Any]] = STAGES,
) -> Compilation:
    """Runs a network in float32 without torch.compile and at each stage."""
    network = copy.deepcopy(model.build()).to(DEVICE)
    inputs = [tensor.to(DEVICE) for tensor in model.inputs()]
    expected, eager = measured(partial(run, network, inputs))
    costs: dict[str, Cost] = {}
    found = expected
    for name, options in stages.items():
        torch._dynamo.reset()
        compiled = torch.compile(network, backend="neuron_sim", options=options)
        run(compiled, inputs)  # compiles
        found, costs[name] = measured(partial(run, compiled, inputs))
    torch._dynamo.reset()
    return Compilation(eager, costs, relative_error(found, expected))
