"""Arguments of a call on the CPU, on the device, or in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import neuron_sim.torch_device  # noqa: F401 - registers the device
import torch
from neuron_sim.settings import device_name
from torch.utils import _pytree as pytree

DEVICE = device_name()
_WIDER = {
    torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
    torch.complex32: torch.complex128, torch.complex64: torch.complex128,
}  # fmt: skip


class UnsupportedLayoutError(Exception):
    """A sample has a tensor that is not dense, or has no values (meta); the device has dense ones
    only."""


def _mapped(
    value: Any, change: Callable[[torch.Tensor], torch.Tensor], other: Callable[[Any], Any]
) -> Any:
    """`value` with every tensor changed, and every other leaf; lists stay lists, so that operators
    accept them, and a tensor that is there twice stays one tensor."""
    copies: dict[int, torch.Tensor] = {}

    def leaf(given: Any) -> Any:
        if not isinstance(given, torch.Tensor):
            return other(given)
        if id(given) not in copies:
            copies[id(given)] = change(given)
        return copies[id(given)]

    return pytree.tree_map(leaf, value)


def _same(leaf: Any) -> Any:
    return leaf


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether the tensor is strided and has values, so that the device can hold it."""
    dense = tensor.layout is torch.strided and not tensor.is_nested and not tensor.is_quantized
    return dense and not tensor.is_meta


def on_device(tensor: torch.Tensor) -> torch.Tensor:
    """A copy on the device with the same strides, offset and conjugate and negative bits.

    The whole storage is copied: a sample that is a view stays one, with what lies around it.
    """
    if not is_dense(tensor):
        raise UnsupportedLayoutError("a sample is not a dense tensor with values")
    flat = torch.empty(0, dtype=tensor.dtype).set_(tensor.detach().untyped_storage())
    there = flat.to(DEVICE).as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
    if tensor.is_conj():
        there = there.conj()
    if tensor.is_neg():
        there = torch._neg_view(there)
    return there.requires_grad_(tensor.requires_grad)


def to_device(value: Any) -> Any:
    """The arguments `value` (any structure) for a call on the device."""

    def other(leaf: Any) -> Any:
        if isinstance(leaf, torch.device) and leaf.type == "cpu":
            return torch.device(DEVICE)
        if isinstance(leaf, str) and leaf == "cpu":
            return DEVICE
        if isinstance(leaf, torch.Generator):
            return torch.Generator(DEVICE).manual_seed(leaf.initial_seed())
        return leaf

    return _mapped(value, on_device, other)


def fresh(value: Any) -> Any:
    """A copy of the CPU arguments `value`, because some operators write their inputs."""

    def copied(tensor: torch.Tensor) -> torch.Tensor:
        if not is_dense(tensor):
            raise UnsupportedLayoutError("a sample is not a dense tensor with values")
        flat = torch.empty(0, dtype=tensor.dtype).set_(tensor.detach().untyped_storage())
        copy = flat.clone().as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
        copy = copy.conj() if tensor.is_conj() else copy
        copy = torch._neg_view(copy) if tensor.is_neg() else copy
        return copy.requires_grad_(tensor.requires_grad)

    return _mapped(value, copied, _same)


def in_double(value: Any) -> Any:
    """The CPU arguments `value` with floating point tensors and dtypes in double precision."""

    def widened(tensor: torch.Tensor) -> torch.Tensor:
        wider = _WIDER.get(tensor.dtype)
        if wider is None:
            return tensor
        return tensor.detach().to(wider).requires_grad_(tensor.requires_grad)

    def other(leaf: Any) -> Any:
        return _WIDER.get(leaf, leaf) if isinstance(leaf, torch.dtype) else leaf

    return _mapped(value, widened, other)


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in `value`, in order."""
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
