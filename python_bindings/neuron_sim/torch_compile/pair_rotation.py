"""Rotary positions of neighbouring pairs (GPT-J, Cohere, GLM, ERNIE) as a product."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node

from neuron_sim.settings import device_name

aten = torch.ops.aten
_VIEWS = (aten.view.default, aten._unsafe_view.default, aten.reshape.default)


def recognise_pair_rotation(module: GraphModule) -> None:
    """Replaces stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2) by a product with a matrix of
    0, 1 and -1, exact where x is finite: elements of rows in HBM would be moved one by one."""
    graph = module.graph
    for node in list(graph.nodes):
        source = _rotated(node)
        if source is None:
            continue
        narrow = _before_cast(source)
        with graph.inserting_before(node):
            product = _product(module, narrow, node)
            if narrow is not source:
                dtype = source.meta["val"].dtype
                product = graph.call_function(aten._to_copy.default, (product,), {"dtype": dtype})
        product.meta = dict(node.meta)
        node.replace_all_uses_with(product)
    graph.eliminate_dead_code()
    module.recompile()


def _rotated(node: Node) -> Node | None:
    """x, if the node is the flattened stack, of a floating dtype on the device."""
    if node.target not in _VIEWS:
        return None
    stack: Any = node.args[0]
    if not isinstance(stack, Node) or stack.target is not aten.stack.default:
        return None
    pair: Any = stack.args[0]
    value = stack.meta["val"]
    last = value.dim() - 1
    if len(stack.args) < 2 or stack.args[1] not in (-1, last) or len(pair) != 2:
        return None
    if pair[0].target is not aten.neg.default:
        return None
    odd, even = _source(pair[0].args[0], 1), _source(pair[1], 0)
    if odd is None or odd is not even:
        return None
    x = odd.meta["val"]
    on_device = x.device.type == device_name() and x.dtype.is_floating_point
    alike = x.shape == node.meta["val"].shape and x.shape[-1] % 2 == 0
    known = all(isinstance(size, int) for size in x.shape)
    return odd if on_device and alike and known else None


def _source(node: Any, first: int) -> Node | None:
    """x of x[..., first::2]."""
    if not isinstance(node, Node) or node.target is not aten.slice.Tensor or len(node.args) != 5:
        return None
    x, dim, start, end, step = node.args
    if not isinstance(x, Node) or not isinstance(end, int):
        return None
    shape = x.meta["val"].shape
    whole = dim in (-1, len(shape) - 1) and end >= shape[-1]
    return x if whole and (start, step) == (first, 2) else None


def _before_cast(x: Node) -> Node:
    """What x was before it was widened to float32: the narrow product has the same values."""
    if x.target is aten._to_copy.default and x.meta["val"].dtype == torch.float32:
        narrow: Any = x.args[0]
        if narrow.meta["val"].dtype in (torch.bfloat16, torch.float16):
            return narrow
    return x


def _product(module: GraphModule, x: Node, node: Node) -> Node:
    """x @ the matrix, over rows of which no dimension is copied: heads may be strided."""
    graph, value = module.graph, x.meta["val"]

    def call(target: Any, *arguments: Any) -> Node:
        made = graph.call_function(target, arguments)
        made.meta = {key: known for key, known in node.meta.items() if key != "val"}
        return made

    shape, width = list(value.shape), value.shape[-1]
    matrix = graph.get_attr(_matrix(module, value))
    leading = [size for size in shape[:-1] if size != 1] or [1]
    if len(leading) == 1:
        product = call(aten.mm.default, call(aten.view.default, x, [*leading, width]), matrix)
    elif len(leading) == 2:
        repeated = call(aten.expand.default, matrix, [leading[0], width, width])
        rows = call(aten.view.default, x, [*leading, width])
        product = call(aten.bmm.default, rows, repeated)
    else:
        product = call(aten.matmul.default, x, matrix)
    return call(aten.view.default, product, shape)


def _matrix(module: GraphModule, x: torch.Tensor) -> str:
    """The name of the matrix [width, width] that the graph holds for products of x."""
    width = int(x.shape[-1])
    name = f"_pair_rotation_{width}_{str(x.dtype).rpartition('.')[2]}"
    if not hasattr(module, name):
        with unset_fake_temporarily():
            matrix = torch.zeros(width, width, dtype=x.dtype)
            even = torch.arange(0, width, 2)
            matrix[even + 1, even], matrix[even, even + 1] = -1.0, 1.0
            module.register_buffer(name, matrix.to(x.device), persistent=False)
    return name
