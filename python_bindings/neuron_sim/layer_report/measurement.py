"""One call of a model with everything that it launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from neuron_sim.calling_place import calling_place, paths_within
from neuron_sim.layer_report.modules import is_compiled, original
from neuron_sim.layer_report.placement import Arguments, tensors_in
from neuron_sim.torch_backend.fallback import fallback_counts
from neuron_sim.torch_backend.launches import Launch, record_launches
from neuron_sim.torch_backend.timing_only import is_timing_only
from neuron_sim.torch_compile.compiled_graphs import (
    CompiledGraph,
    compiled_graphs,
    record_graph_runs,
)

Backward = bool | Callable[[Any], Tensor]
"""Whether to go backward, or the function that makes the loss of the output."""

_MOST_RUNS = 4
"""A model that compiles something in every run is measured in this one."""


@dataclass(frozen=True)
class Measurement:
    """What a call of a model did."""

    launches: Sequence[Launch]
    """On the device of the model, in order."""
    forward: int
    """How many of them belong to the forward pass: the first ones."""
    graphs: Sequence[CompiledGraph]
    """Graphs of torch.compile that ran, in order."""
    calls: Mapping[str, int] | None
    """Calls of each module, by path as launches name it; None for a compiled model."""
    host_operators: Mapping[str, int]
    """How often an operator without a kernel ran on the CPU, without simulated time."""


def measure(
    model: nn.Module, arguments: Arguments, device: torch.device, backward: Backward
) -> Measurement:
    """Measures a run in which nothing is compiled any more. ValueError when it has nothing to go
    backward from."""
    for _ in range(_MOST_RUNS):
        known = len(compiled_graphs())
        with _unchanged(model, arguments):
            found = _one_run(model, arguments, device, backward)
        if len(compiled_graphs()) == known:
            break
    return found


def _one_run(
    model: nn.Module, arguments: Arguments, device: torch.device, backward: Backward
) -> Measurement:
    before = Counter(fallback_counts())
    with (
        torch.neuron_sim.device(device),
        torch.set_grad_enabled(bool(backward)),
        record_graph_runs() as graphs,
        record_launches() as launches,
        paths_within(original(model)),
        _counted_calls(model) as calls,
    ):
        with record_launches() as forward:
            output = model(*arguments.positional, **arguments.named)
            roots = _roots(output, backward)
        if roots:
            # Gradients come from the host, which launches nothing.
            ones = [torch.ones(root.shape, dtype=root.dtype).to(root.device) for root in roots]
            torch.autograd.backward(roots, ones)
    return Measurement(
        [launch for launch in launches if launch.device == device.index],
        sum(each.device == device.index for each in forward),
        graphs,
        calls,
        Counter(fallback_counts()) - before,
    )


def _roots(output: Any, backward: Backward) -> list[Tensor]:
    """Where the backward pass starts."""
    if backward is False:
        return []
    if backward is not True:
        output = backward(output)
    elif isinstance(output, Mapping) and isinstance(output.get("loss"), Tensor):
        output = output["loss"]
    roots = [each for each in tensors_in(output) if each.requires_grad]
    if not roots:
        raise ValueError("the output has no tensor that requires a gradient to go backward from.")
    return roots


@contextmanager
def _counted_calls(model: nn.Module) -> Iterator[dict[str, int] | None]:
    """Calls of each module in the block, by path. A hook would change what is compiled."""
    if is_compiled(model):
        yield None
        return
    calls: dict[str, int] = {}

    def count(_module: nn.Module, _arguments: Any) -> None:
        path, _ = calling_place()
        calls[path] = calls.get(path, 0) + 1

    hook = nn.modules.module.register_module_forward_pre_hook(count)
    try:
        yield calls
    finally:
        hook.remove()


@contextmanager
def _unchanged(model: nn.Module, arguments: Arguments) -> Iterator[None]:
    """Afterwards gradients and buffers are as before; in the block no gradient is there yet, as
    after zero_grad()."""
    leaves = [*model.parameters(), *(each for _, each in arguments.tensors())]
    gradients = [(leaf, leaf.grad) for leaf in leaves if leaf.is_leaf and leaf.requires_grad]
    # Only training changes them, and without values there is nothing to keep. On the host they
    # take no HBM, whose use is measured.
    keeps = model.training and not is_timing_only()
    buffers = [(buffer, buffer.cpu()) for buffer in model.buffers()] if keeps else []
    for leaf, _ in gradients:
        leaf.grad = None
    try:
        yield
    finally:
        for leaf, gradient in gradients:
            leaf.grad = gradient
        with torch.no_grad():
            for buffer, kept in buffers:
                buffer.copy_(kept)
