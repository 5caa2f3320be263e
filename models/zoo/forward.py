"""Forward passes on the device, in strict mode, compared with the CPU in float64."""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import neuron_sim.torch_device  # noqa: F401  (the device, also without autoload)
import torch
from torch import Tensor

from zoo.catalogue import Model

DEVICE = "neuron_sim"
FLOAT32_LIMIT = 1e-4
"""Largest relative error in float32."""
BFLOAT16_FACTOR = 2.0
"""Largest error of the device in bfloat16, as a multiple of the CPU's."""


@dataclass
class Account:
    """The cost of some work on the device. Simulated times in milliseconds."""

    launches: int
    body_ms: float
    """Sum of the kernel bodies."""
    total_ms: float
    """On the device's clock, with launch overheads."""
    busiest: str
    """The engine with the most busy time, or "DMA"."""
    busiest_share: float
    """Its busy time as a share of the bodies."""
    host_seconds: float
    fallbacks: dict[str, int]
    host_operators: dict[str, int]


def account_for(work: Callable[[], Any]) -> tuple[Any, Account]:
    """Runs `work` in strict mode: (its result, its cost). The kernels may compile in it.

    Raises NotImplementedError with the operator and the reason where one cannot run on the device.
    """
    torch.neuron_sim.reset_fallback_counts()
    clock, start = torch.neuron_sim.simulated_time(DEVICE), time.perf_counter()
    with torch.neuron_sim.strict(), torch.neuron_sim.record_launches() as launches:
        result = work()
        torch.neuron_sim.synchronize(DEVICE)
    seconds = time.perf_counter() - start
    total = 1e3 * (torch.neuron_sim.simulated_time(DEVICE) - clock)
    busy: Counter[str] = Counter()
    for launch in launches:
        busy.update({name: share * launch.body_us for name, share in launch.utilisation.items()})
    body = sum(launch.body_us for launch in launches)
    name, most = busy.most_common(1)[0]
    return result, Account(
        launches=len(launches),
        body_ms=body / 1e3,
        total_ms=total,
        busiest=name,
        busiest_share=most / body,
        host_seconds=seconds,
        fallbacks=torch.neuron_sim.fallback_counts(),
        host_operators=torch.neuron_sim.host_operators(),
    )


def first_output(output: Any) -> Tensor:
    """The logits or hidden states among a network's outputs."""
    return output if isinstance(output, Tensor) else output[0]


def relative_error(found: Tensor, reference: Tensor) -> float:
    """The largest difference, relative to the largest number of the reference; NaN if any is."""
    difference = found.detach().cpu().double() - reference.double()
    return float(difference.abs().max() / reference.double().abs().max())


def _converted(inputs: tuple[Tensor, ...], dtype: torch.dtype) -> list[Tensor]:
    return [x.to(dtype) if x.is_floating_point() else x for x in inputs]


@dataclass
class Comparison:
    """A network in one dtype, with relative errors to the CPU in float64 on the same weights."""

    error: float
    cpu_error: float
    account: Account

    def problem(self, dtype: torch.dtype) -> str | None:
        """The problem, None if there is none."""
        if self.account.fallbacks:
            return f"falls back to the CPU: {self.account.fallbacks}"
        float32 = dtype == torch.float32
        limit = FLOAT32_LIMIT if float32 else BFLOAT16_FACTOR * self.cpu_error
        if not self.error <= limit:
            return f"relative error {self.error:.1e} is more than {limit:.1e}"
        return None


def compare(model: Model, dtype: torch.dtype) -> Comparison:
    """One forward pass of `model` in `dtype` on the device and on the CPU."""
    network = model.build().to(dtype)
    inputs = _converted(model.inputs(), dtype)
    with torch.no_grad():
        exact = copy.deepcopy(network).double()
        reference = first_output(exact(*_converted(model.inputs(), torch.float64)))
        on_cpu = first_output(network(*inputs))
        network.to(DEVICE)
        on_device = [x.to(DEVICE) for x in inputs]
        output, account = account_for(lambda: first_output(network(*on_device)))
    return Comparison(
        error=relative_error(output, reference),
        cpu_error=relative_error(on_cpu, reference),
        account=account,
    )
