"""torch.compile(model) without a backend: graphs on the device are compiled by ours.

torch.compile hands every graph to TorchInductor unless a backend is named, and TorchInductor has no
hook that gives a graph away: its code generators for a device get single operators. So its entry,
`compile_fx`, is followed by one that looks where the graph's tensors are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from neuron_sim.after_import import after_import
from neuron_sim.settings import DEVICE_NAMES, device_name


def install() -> None:
    """Follows TorchInductor's entry as soon as TorchInductor is imported, and gives the backend its
    names as soon as TorchDynamo is: one that TorchDynamo finds among the installed packages is
    registered when it is first used, by two threads at once twice."""
    after_import("torch._inductor.compile_fx", _follow)
    after_import("torch._dynamo.backends.registry", _register)
    after_import("torch.nn.attention.flex_attention", _accept_device)
    after_import("torch.compiler._cache", _register_artifacts)


def _register_artifacts(_module: ModuleType) -> None:
    from neuron_sim.torch_compile import artifacts  # noqa: F401 - needs torch.compiler._cache


def _accept_device(module: ModuleType) -> None:
    """FlexAttention refuses devices that TorchInductor has no template for; its operator is also
    one of plain operators, which is what the backend compiles."""
    generic, name = module._validate_device, device_name()

    def validate(query: Any, key: Any, value: Any) -> None:
        if query.device.type != name:
            generic(query, key, value)

    module._validate_device = validate  # type: ignore[attr-defined]


def _register(registry: ModuleType) -> None:
    taken = {each.name for each in entry_points(group="torch_dynamo_backends")}
    for name in DEVICE_NAMES:
        if name == device_name() or name == DEVICE_NAMES[0] or name not in taken:
            registry.register_backend(_compile, name)


def _compile(graph: Any, inputs: Any, **options: Any) -> Any:
    from neuron_sim.torch_compile.backend import compile_backend  # needs TorchDynamo

    return compile_backend(graph, inputs, **options)


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
            return _compile(graph, inputs)
        return generic(graph, inputs, *arguments, **options)

    module.compile_fx = compile_fx  # type: ignore[attr-defined]
