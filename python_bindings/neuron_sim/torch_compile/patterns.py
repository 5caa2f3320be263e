"""Expressions that models write out and the device has as one operator."""

from __future__ import annotations

import math
from operator import getitem
from typing import Any

import torch
from torch.fx import GraphModule, Node

from neuron_sim.settings import device_name

aten = torch.ops.aten


def recognise_gelu(module: GraphModule) -> None:
    """Replaces x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))), as models write it out, by
    the operator, which is one instruction of the Scalar engine."""
    graph = module.graph
    for node in list(graph.nodes):
        source = _argument_of_gelu(node)
        if source is None:
            continue
        with graph.inserting_before(node):
            gelu = graph.call_function(aten.gelu.default, (source,), {"approximate": "tanh"})
            gelu.meta = dict(node.meta)
        node.replace_all_uses_with(gelu)
    graph.eliminate_dead_code()
    module.recompile()


def _argument_of_gelu(node: Node) -> Node | None:
    """x, if the node is the last product of the expression."""
    if node.target is not aten.mul.Tensor:
        return None
    for half, curve in (node.args, node.args[::-1]):
        source = _operand(half, aten.mul.Tensor, 0.5)
        tanh = _operand(curve, aten.add.Tensor, 1.0)
        if source is None or tanh is None or tanh.target is not aten.tanh.default:
            continue
        total = _operand(tanh.args[0], aten.mul.Tensor, math.sqrt(2 / math.pi))
        if total is not None and total.target is aten.add.Tensor and len(total.args) == 2:
            for linear, cubic in (total.args, total.args[::-1]):
                power = _operand(cubic, aten.mul.Tensor, 0.044715)
                if linear is source and power is not None and _is_cube(power, source):
                    return source
    return None


def _operand(node: Any, target: Any, number: float) -> Node | None:
    """The operand of `node` beside the number, if it is that operator with that number."""
    if not isinstance(node, Node) or node.target is not target or node.kwargs:
        return None
    for operand, constant in (node.args, node.args[::-1]) if len(node.args) == 2 else ():
        if isinstance(operand, Node) and isinstance(constant, int | float):
            return operand if math.isclose(constant, number) else None
    return None


def _is_cube(node: Node, source: Node) -> bool:
    if node.target is not aten.pow.Tensor_Scalar:
        return False
    base, exponent = node.args
    return base is source and exponent == 3


def recognise_rms_norm(module: GraphModule) -> None:
    """Replaces x * rsqrt(mean(x**2, -1) + eps), as models write it out, by the operator, which
    reads x once. Models of bf16 and fp16 compute it in fp32, between two casts; those of fp32
    multiply it by a weight, and the operator does both."""
    graph = module.graph
    for node in list(graph.nodes):
        found = _row_and_epsilon(node)
        if found is None:
            continue
        row, epsilon = found
        result, source, weight = _extended(node, row)
        with graph.inserting_before(result):
            arguments = (source, [row.meta["val"].shape[-1]], weight, epsilon)
            norm = graph.call_function(aten._fused_rms_norm.default, arguments)
            norm.meta = {key: value for key, value in result.meta.items() if key != "val"}
            normalised = graph.call_function(getitem, (norm, 0))
            normalised.meta = dict(result.meta)
        result.replace_all_uses_with(normalised)
    graph.eliminate_dead_code()
    module.recompile()


def _row_and_epsilon(node: Node) -> tuple[Node, float] | None:
    """x and eps, if the node is the last product of the expression and x is in fp32."""
    if node.target is not aten.mul.Tensor:
        return None
    for row, inverse in (node.args, node.args[::-1]):
        if not isinstance(row, Node) or not _is_only_read_by(inverse, node):
            continue
        if inverse.target is not aten.rsqrt.default or not _is_float_on_device(row):
            continue
        mean, epsilon = _sum_with_number(inverse.args[0])
        if mean is not None and _is_mean_square(mean, row):
            return row, epsilon
    return None


def _extended(node: Node, row: Node) -> tuple[Node, Node, Node | None]:
    """The result, x and the weight of the operator that replaces the product `node` of `row`."""
    if len(node.users) != 1:
        return node, row, None
    user = next(iter(node.users))
    if row.target is aten._to_copy.default and user.target is aten._to_copy.default:
        source: Any = row.args[0]
        dtype = source.meta["val"].dtype
        narrow = dtype in (torch.bfloat16, torch.float16)
        if narrow and _is_on_device(source) and user.meta["val"].dtype == dtype:
            return user, source, None
    if user.target is aten.mul.Tensor:
        weight: Any = user.args[1] if user.args[0] is node else user.args[0]
        shape = row.meta["val"].shape[-1:]
        if isinstance(weight, Node) and _is_float_on_device(weight):
            if weight.meta["val"].shape == shape:
                return user, row, weight
    return node, row, None


def _is_on_device(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.device.type == device_name()


def _is_float_on_device(node: Node) -> bool:
    return _is_on_device(node) and node.meta["val"].dtype == torch.float32


def _is_only_read_by(node: Any, user: Node) -> bool:
    return isinstance(node, Node) and list(node.users) == [user]


def _sum_with_number(node: Any) -> tuple[Node | None, float]:
    """The operand of `node` beside a number, and the number, if it is their sum."""
    if not isinstance(node, Node) or node.kwargs or len(node.args) != 2:
        return None, 0
    operand, number = node.args
    if node.target not in (aten.add.Tensor, aten.add.Scalar):
        return None, 0
    if not isinstance(operand, Node) or not isinstance(number, int | float):
        return None, 0
    return operand, float(number)


def _is_mean_square(node: Node, row: Node) -> bool:
    """Whether the node is mean(row**2, -1, keepdim=True)."""
    if node.target is not aten.mean.dim or node.kwargs or len(node.args) != 3:
        return False
    square, dimensions, keeps = node.args
    if not isinstance(square, Node) or not keeps:
        return False
    shape = row.meta["val"].shape
    rank = len(shape)
    if rank == 0 or not isinstance(shape[-1], int):  # the operator takes the size of a row
        return False
    if not isinstance(dimensions, list | tuple) or list(dimensions) not in ([-1], [rank - 1]):
        return False
    if square.target is aten.pow.Tensor_Scalar:
        return square.args[0] is row and square.args[1] == 2
    return square.target is aten.mul.Tensor and tuple(square.args) == (row, row)
