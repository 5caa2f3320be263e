"""The collectives of torch_xla.core.xla_model, on the device's torch.distributed backend."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as distributed

from neuron_sim.run.torch_xla.core.process_group import ensure_group
from neuron_sim.run.torch_xla.runtime import world_size

REDUCE_SUM = "sum"
REDUCE_MUL = "mul"
REDUCE_AND = "and"
REDUCE_OR = "or"
REDUCE_MIN = "min"
REDUCE_MAX = "max"

_OPERATIONS = {
    REDUCE_SUM: distributed.ReduceOp.SUM,
    REDUCE_MUL: distributed.ReduceOp.PRODUCT,
    REDUCE_AND: distributed.ReduceOp.BAND,
    REDUCE_OR: distributed.ReduceOp.BOR,
    REDUCE_MIN: distributed.ReduceOp.MIN,
    REDUCE_MAX: distributed.ReduceOp.MAX,
}

Groups = Sequence[Sequence[int]] | None
"""Replica groups: lists of ranks, of which this process is in one. None: one of all processes."""


def all_reduce(
    reduce_type: str,
    inputs: torch.Tensor | list[torch.Tensor],
    scale: float = 1.0,
    groups: Groups = None,
    cctx: Any = None,
    pin_layout: bool = True,
) -> torch.Tensor | None:
    """The reduced tensor times `scale`, as a new one; a list of tensors is changed in place."""
    single = isinstance(inputs, torch.Tensor)
    tensors = [inputs.clone()] if isinstance(inputs, torch.Tensor) else list(inputs)
    if world_size() > 1:
        group = _group(groups)
        for tensor in tensors:
            distributed.all_reduce(tensor, op=_operation(reduce_type), group=group)
    if scale != 1.0:
        for tensor in tensors:
            tensor.mul_(scale)
    return tensors[0] if single else None


def all_gather(
    value: torch.Tensor, dim: int = 0, groups: Groups = None, pin_layout: bool = True
) -> torch.Tensor:
    """The tensors of all processes, joined along `dim` in the order of their ranks."""
    if world_size() == 1:
        return value.clone()
    group = _group(groups)
    rows = value.movedim(dim, 0).contiguous()
    size = distributed.get_world_size(group)
    gathered = rows.new_empty(size * rows.shape[0], *rows.shape[1:])
    distributed.all_gather_into_tensor(gathered, rows, group=group)
    return gathered.movedim(0, dim)


def reduce_scatter(
    reduce_type: str,
    input: torch.Tensor,
    scale: float,
    scatter_dim: int,
    shard_count: int,
    groups: Groups = None,
    pin_layout: bool = True,
) -> torch.Tensor:
    """This process's share along `scatter_dim` of the reduced tensor times `scale`."""
    if world_size() == 1:
        return input * scale
    group = _group(groups)
    rows = input.movedim(scatter_dim, 0).contiguous()
    share = rows.new_empty(rows.shape[0] // shard_count, *rows.shape[1:])
    distributed.reduce_scatter_tensor(share, rows, op=_operation(reduce_type), group=group)
    return (share * scale).movedim(0, scatter_dim)


def all_to_all(
    value: torch.Tensor,
    split_dimension: int,
    concat_dimension: int,
    split_count: int,
    groups: Groups = None,
    pin_layout: bool = True,
) -> torch.Tensor:
    """The shares of this rank of all processes' tensors, which are split along one dimension and
    joined along another."""
    pieces = [piece.contiguous() for piece in value.chunk(split_count, split_dimension)]
    received = [torch.empty_like(piece) for piece in pieces]
    if world_size() > 1:
        distributed.all_to_all(received, pieces, group=_group(groups))
    else:
        received = pieces
    return torch.cat(received, concat_dimension)


def collective_broadcast(
    tensors: list[torch.Tensor], root_ordinal: int = 0, groups: Groups = None
) -> None:
    """Gives all processes the root's values, in place."""
    if world_size() > 1:
        for tensor in tensors:
            distributed.broadcast(tensor, src=root_ordinal, group=_group(groups))


def broadcast_master_param(model: torch.nn.Module) -> None:
    """Gives all processes the first one's parameters and buffers."""
    with torch.no_grad():
        collective_broadcast([*model.parameters(), *model.buffers()])


def rendezvous(tag: str, payload: bytes = b"", replicas: Sequence[int] = ()) -> list[bytes]:
    """Waits for all processes on the host, without simulated time; the payloads in rank order.

    NotImplementedError for `replicas`.
    """
    if replicas:
        raise NotImplementedError("torch_xla: rendezvous takes no replicas in the simulator")
    return _gathered(payload)


def mesh_reduce(tag: str, data: Any, reduce_fn: Callable[[list[Any]], Any]) -> Any:
    """`reduce_fn` of the list of all processes' data, which can be any that pickle takes."""
    return reduce_fn(_gathered(data))


def _gathered(value: Any) -> list[Any]:
    if world_size() == 1:
        return [value]
    values: list[Any] = [None] * world_size()
    distributed.all_gather_object(values, value, group=_host_group())
    return values


def _operation(reduce_type: str) -> Any:
    if reduce_type not in _OPERATIONS:
        names = ", ".join(_OPERATIONS)
        raise ValueError(f"torch_xla has no reduction '{reduce_type}'; there are {names}")
    return _OPERATIONS[reduce_type]


def _group(groups: Groups) -> Any:
    ensure_group()
    return None if not groups else _subgroup(tuple(tuple(ranks) for ranks in groups))


@functools.cache
def _subgroup(groups: tuple[tuple[int, ...], ...]) -> Any:
    own, _ = distributed.new_subgroups_by_enumeration([list(ranks) for ranks in groups])
    return own


@functools.cache
def _host_group() -> Any:
    ensure_group()
    return distributed.new_group(backend="gloo")
