"""torch.compile(model) without a backend: graphs on the device are compiled by ours.

torch.compile hands every graph to TorchInductor unless a backend is named, and TorchInductor has no
hook that gives a graph away: its code generators for a device get single operators. So its entry,
`compile_fx`, is followed by one that looks where the graph's tensors are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from neuron_sim.after_import import after_import
from neuron_sim.settings import device_name


def install() -> None:
    """Follows TorchInductor's entry as soon as TorchInductor is imported."""
    after_import("torch._inductor.compile_fx", _follow)


def _devices(graph: Any, inputs: Any) -> Iterator[str]:
    """The device types of a graph's inputs, parameters, buffers, and of tensors that it makes."""
    for value in (*inputs, *graph.parameters(), *graph.buffers()):
        device = getattr(value, "device", None)
        if device is not None:
            yield device.type
    for node in graph.graph.nodes:
        device = node.kwargs.get("device")
        if device is not None:
            yield str(device).partition(":")[0]


def _follow(module: ModuleType) -> None:
    generic: Callable[..., Any] = module.compile_fx

    def compile_fx(graph: Any, inputs: Any, *arguments: Any, **options: Any) -> Any:
        if hasattr(graph, "graph") and device_name() in _devices(graph, inputs):
            from neuron_sim.torch_compile.backend import compile_backend  # needs TorchDynamo

            return compile_backend(graph, inputs)
        return generic(graph, inputs, *arguments, **options)

    module.compile_fx = compile_fx  # type: ignore[attr-defined]
