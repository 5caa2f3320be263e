"""Graphs with tensors on the host, whose inputs the vendor's backend copies to the device (torch/
reference/env-vars: TORCH_NEURONX_DYNAMO_DISABLE_CPU_AUTOCOPY, TORCH_NEURONX_RETAIN_DEVICE_MODE)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from neuron_sim.settings import device_name, semantics
from neuron_sim.torch_compile.options import Options


def has_host_inputs(module: GraphModule) -> bool:
    """Whether the device follows the vendor and the graph has inputs on the host, and copies
    nothing from the device to the host itself."""
    if semantics() != "vendor":
        return False
    nodes = module.graph.nodes
    copies = any(
        _is_on(node, "cpu") and any(_is_on(each, device_name()) for each in node.all_input_nodes)
        for node in nodes
        if node.kwargs.get("device") is not None
    )
    return not copies and any(_is_on(node, "cpu") for node in nodes if node.op == "placeholder")


def _is_on(node: Node, device_type: str) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.device.type == device_type


def move_to_device(module: GraphModule) -> None:
    """Makes a graph compute on the device what it was traced to compute on the host."""

    def moved(value: Any) -> Any:
        is_on_host = isinstance(value, torch.Tensor) and value.device.type == "cpu"
        return value.to(device_name()) if is_on_host else value

    for node in module.graph.nodes:
        if "val" in node.meta:
            node.meta["val"] = pytree.tree_map(moved, node.meta["val"])
        if node.kwargs.get("device") is not None:
            node.kwargs = {**node.kwargs, "device": torch.device(device_name())}
        if node.op == "get_attr":
            owner, _, name = str(node.target).rpartition(".")
            holder = module.get_submodule(owner)
            setattr(holder, name, moved(getattr(holder, name)))
    module.recompile()


class WithHostInputs:
    """A graph, called with a list of inputs that may be on the host. Results are on the device,
    but gradients, and all with the option retain_device, where the inputs are."""

    def __init__(
        self, graph: Callable[[list[Any]], Sequence[Any]], module: GraphModule, returns: bool,
        options: Options,
    ) -> None:  # fmt: skip
        self._boxed_call = True
        self._graph = graph
        self._written = _written_inputs(module)
        self._returns = returns
        self._options = options

    def __call__(self, arguments: list[Any]) -> Sequence[Any]:
        """RuntimeError for inputs on the host where the environment forbids the copies, and for
        inputs on both where the option is on."""
        inputs = list(arguments)
        arguments.clear()
        tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
        retains = self._options.retains_device
        places = {each.device.type for each in tensors}
        if retains and len(places) > 1:
            raise RuntimeError(
                f"retain_device: inputs of the graph are on {' and '.join(sorted(places))}, so "
                "there is no one device for its results."
            )
        moved = [_copied(place, each) for place, each in enumerate(inputs)]
        outputs = self._graph(list(moved))
        for place in self._written:
            if inputs[place] is not moved[place]:
                inputs[place].copy_(moved[place])
        if self._returns or (retains and places == {"cpu"}):
            outputs = [each.cpu() if isinstance(each, torch.Tensor) else each for each in outputs]
        return outputs


def _copied(place: int, value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
        return value
    if os.environ.get("TORCH_NEURONX_DYNAMO_DISABLE_CPU_AUTOCOPY") == "1":
        raise RuntimeError(
            f"Input tensor at index {place} is on cpu device, expected {device_name()}: "
            f"TORCH_NEURONX_DYNAMO_DISABLE_CPU_AUTOCOPY is 1; use tensor.to('{device_name()}')."
        )
    return value.to(device_name())


def _written_inputs(module: GraphModule) -> list[int]:
    """The inputs that the graph writes."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    written = set()
    for node in module.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.is_mutable:
            continue
        target = node.args[0]
        while isinstance(target, Node) and target.op != "placeholder":
            target = target.args[0]  # of a view
        written.add(target)
    return [place for place, node in enumerate(inputs) if node in written]
