"""Measures a call of a model and reports on it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from neuron_sim.layer_report.layer_report import LayerReport
from neuron_sim.layer_report.measurement import Backward, Measurement, measure
from neuron_sim.layer_report.modules import modules_by_path, original
from neuron_sim.layer_report.placement import Arguments, device_of
from neuron_sim.layer_report.tree import layer_tree
from neuron_sim.layer_report.uses import uses_of
from neuron_sim.model.estimate import device_facts, peak_of
from neuron_sim.model.layers import labels_of
from neuron_sim.torch_backend.launches import GRAPH

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
"""Those in which products have a known peak."""


def measured_report(
    model: nn.Module,
    inputs: Any,
    *,
    backward: Backward,
    depth: int | None,
    group: bool,
    dtype: torch.dtype | None,
) -> LayerReport:
    """neuron_sim.report()."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model is of type {type(model).__name__}; it must be a torch.nn.Module.")
    if depth is not None and (type(depth) is not int or depth < 1):
        raise ValueError(f"depth is {depth!r}; it must be a whole number of at least 1, or None.")
    arguments = Arguments.of(inputs)
    device = device_of(model, arguments)
    dtype = dtype or _product_dtype(model, arguments, device)
    if dtype not in _DTYPES:
        raise ValueError(
            f"dtype is {dtype}; the peak of products is known in {', '.join(map(str, _DTYPES))}."
        )
    measured = measure(model, arguments, device, backward)
    inner = original(model)
    label = labels_of(inner) if group else str
    uses = uses_of(measured, _fast_paths(inner, measured))
    root, idle = layer_tree(model, uses, measured.calls, label)
    return LayerReport(
        model=type(inner).__name__,
        architecture=torch.neuron_sim.get_device_properties(device).architecture,
        device=str(device),
        dtype=str(dtype).removeprefix("torch."),
        peak=peak_of(device_facts(), dtype),
        compiled=bool(measured.graphs),
        backward=backward is not False,
        root=root,
        idle=idle,
        host_operators=measured.host_operators,
        depth=depth,
    )


def _fast_paths(model: nn.Module, measured: Measurement) -> set[str]:
    """Modules that compute with the parameters of their submodules and call none of them, as
    torch's encoder layers do in evaluation."""
    launching = {launch.module for launch in measured.launches if launch.name != GRAPH}
    return {
        path
        for path, module in modules_by_path(model).items()
        if path in launching
        and any(next(child.parameters(), None) is not None for child in module.children())
        and not any(other.startswith(f"{path}.".lstrip(".")) and other != path
                    for other in launching)
    }  # fmt: skip


def _product_dtype(model: nn.Module, arguments: Arguments, device: torch.device) -> torch.dtype:
    """That of autocast, else of most elements of the parameters, else of the inputs."""
    if torch.is_autocast_enabled(device.type):
        return torch.get_autocast_dtype(device.type)
    for tensors in (model.parameters(), (each for _, each in arguments.tensors())):
        elements: dict[torch.dtype, int] = {}
        for tensor in tensors:
            if tensor.is_floating_point() and not nn.parameter.is_lazy(tensor):
                elements[tensor.dtype] = elements.get(tensor.dtype, 0) + tensor.numel()
        if elements:
            return max(elements, key=elements.__getitem__)
    return torch.float32
