"""The arguments of a call, and the one device on which a model and they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from neuron_sim.settings import device_name


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call of a model."""

    positional: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, inputs: Any) -> Arguments:
        """A tensor is the only argument, a tuple or list are all, a mapping is by name. TypeError
        for anything else."""
        if isinstance(inputs, Tensor):
            return cls((inputs,))
        if isinstance(inputs, tuple | list):
            return cls(tuple(inputs))
        if isinstance(inputs, Mapping):
            return cls(named=dict(inputs))
        raise TypeError(
            f"inputs is of type {type(inputs).__name__}; it must be a tensor, a tuple or list of "
            "arguments, or a dict of keyword arguments."
        )

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """The tensors in them, each with the name of its argument: "input 0", "input 'mask'"."""
        for name, value in (*enumerate(self.positional), *self.named.items()):
            for tensor in tensors_in(value):
                yield f"input {name!r}", tensor


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and mappings."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from tensors_in(each)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from tensors_in(each)


def device_of(model: nn.Module, arguments: Arguments) -> torch.device:
    """The device of all parameters, buffers and tensors of the arguments. ValueError when there is
    none, another backend's, or more than one."""
    tensors = [
        *((f"parameter '{name}'", each) for name, each in model.named_parameters()),
        *((f"buffer '{name}'", each) for name, each in model.named_buffers()),
        *arguments.tensors(),
    ]
    if not tensors:
        raise ValueError("neither the model nor its inputs have a tensor, so it has no device.")
    for what, tensor in tensors:
        if tensor.device.type != device_name():
            raise ValueError(
                f"{what} is on {tensor.device}; a report takes models and inputs on "
                f"{device_name()}: `.to('{device_name()}')` moves them."
            )
    (first, one), *others = tensors
    for what, tensor in others:
        if tensor.device != one.device:
            raise ValueError(
                f"{what} is on {tensor.device}, and {first} on {one.device}; a report is about one "
                "device."
            )
    return one.device
