"""module_db and optim_db: modules and optimizers on the device against the CPU."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from comparison import check_same
from observation import Activity, observe
from operators import SEED, NothingToCompareError
from placement import DEVICE, fresh, tensors, to_device
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

STEPS = 3
# Of the two parameters of an optimizer; Muon takes matrices only.
SHAPES = {"Muon": ((4, 5), (3, 2))}


def find_module(name: str) -> Any:
    return next(info for info in module_db if info.name == name)


def find_optimizer(name: str) -> Any:
    return next(info for info in optim_db if info.optim_cls.__name__ == name)


def _outcome(module: Any, forward: tuple[Any, dict[str, Any]], on_device: bool) -> list[Any]:
    """Results and, where there are some, the gradients of parameters and inputs."""
    arguments, options = forward
    torch.manual_seed(SEED)
    results = module(*arguments, **options)
    outputs = [t for t in tensors(results) if t.requires_grad]
    leaves = [t for t in tensors(forward) if t.requires_grad] + list(module.parameters())
    gradients: list[Any] = []
    if outputs and leaves:
        generator = torch.Generator().manual_seed(SEED)
        seeds = [torch.randn(t.shape, generator=generator).to(t.dtype) for t in outputs]
        seeds = to_device(seeds) if on_device else seeds
        gradients = list(torch.autograd.grad(outputs, leaves, seeds, allow_unused=True))
    return [tensors(results), gradients, list(module.buffers())]


def _check_module_input(info: Any, given: Any, training: bool, dtype: Any, act: Activity) -> int:
    torch.manual_seed(SEED)
    constructor = given.constructor_input
    here = info.module_cls(*constructor.args, **constructor.kwargs).to(dtype).train(training)
    forward = (given.forward_input.args, given.forward_input.kwargs)
    there = copy.deepcopy(here).to(DEVICE)
    exact = copy.deepcopy(here).to(torch.float64)
    expected = _outcome(here, fresh(forward), on_device=False)
    moved = to_device(forward)
    with observe(act):
        found = _outcome(there, moved, on_device=True)

    def in_double() -> list[Any]:
        from placement import in_double as widened

        return _outcome(exact, widened(fresh(forward)), on_device=False)

    return check_same(found, expected, in_double)


def check_module(name: str, dtype: torch.dtype, samples: int, activity: Activity) -> int:
    """Forward and backward in training and evaluation mode; returns the values compared."""
    info = find_module(name)
    values = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for training in (True, False):
            torch.manual_seed(SEED)
            inputs = info.module_inputs_func(
                info, device="cpu", dtype=dtype, requires_grad=True, training=training
            )
            for given in inputs[:samples]:
                if given.forward_input is not None:
                    values += _check_module_input(info, given, training, dtype, activity)
    if values == 0:
        raise NothingToCompareError("no sample has values to compare")
    return values


def _trained(info: Any, options: dict[str, Any], device: str) -> list[torch.Tensor]:
    """Two parameters after some steps on a quadratic loss, towards its extreme value."""
    generator = torch.Generator().manual_seed(SEED)
    shapes = SHAPES.get(info.optim_cls.__name__, ((4, 5), (3,)))
    starts = [torch.randn(shape, generator=generator) for shape in shapes]
    slopes = [torch.rand(t.shape, generator=generator) + 0.5 for t in starts]
    parameters = [t.to(device).requires_grad_() for t in starts]
    weights = [t.to(device) for t in slopes]
    optimizer = info.optim_cls(parameters, **options)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = sum((w * p * p).sum() for w, p in zip(weights, parameters, strict=True))
        loss = -loss if options.get("maximize") else loss
        loss.backward()
        return loss

    for _ in range(STEPS):
        optimizer.step(closure)
    return [parameter.detach() for parameter in parameters]


def check_optimizer(name: str, samples: int, activity: Activity) -> int:
    """Parameters after some steps, for every setting; returns the values compared."""
    info = find_optimizer(name)
    values = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in info.optim_inputs_func(device="cpu")[:samples]:
            options = to_device(given.kwargs)
            expected = _trained(info, given.kwargs, "cpu")
            with observe(activity):
                found = _trained(info, options, DEVICE)
            values += check_same(found, expected, list)
    return values
