"""Turns of rotary positions as products: of neighbouring pairs, and of two halves."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node

from neuron_sim.settings import device_name

aten = torch.ops.aten
_VIEWS = (aten.view.default, aten._unsafe_view.default, aten.reshape.default)


def recognise_rotations(module: GraphModule) -> None:
    """Replaces stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2), and cat((-x[..., n:],
    x[..., :n]), -1) of halves, by a product with a matrix of 0, 1 and -1, exact where x is finite:
    the first moves elements of rows in HBM one by one, the second takes three kernels."""
    graph = module.graph
    for node in list(graph.nodes):
        source = _with_pairs(node) or _with_halves(node)
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


def _with_pairs(node: Node) -> Node | None:
    """x, if the node is the flattened stack."""
    stack: Any = node.args[0] if node.target in _VIEWS else None
    if not isinstance(stack, Node) or stack.target is not aten.stack.default:
        return None
    return _source(stack, node, (1, 0), 2)


def _with_halves(node: Node) -> Node | None:
    """x, if the node is the concatenation."""
    if node.target is not aten.cat.default:
        return None
    half = node.meta["val"].shape[-1] // 2
    return _source(node, node, (half, 0), 1)


def _source(joined: Node, result: Node, firsts: tuple[int, int], step: int) -> Node | None:
    """x, if `joined` is of -x[..., firsts[0]::step] and of as many of x[..., firsts[1]::step], and
    x, floating on the device, is as large as `result`."""
    pair, *dims = joined.args
    last = joined.meta["val"].dim() - 1
    if not isinstance(pair, list | tuple) or len(pair) != 2 or (dims or [0])[0] not in (-1, last):
        return None
    if pair[0].target is not aten.neg.default:
        return None
    source, *indices = _part(pair[0].args[0], step)
    other, *others = _part(pair[1], step)
    if source is not other or source is None:
        return None
    x, value = source.meta["val"], result.meta["val"]
    on_device = x.device.type == device_name() and x.dtype.is_floating_point
    known = all(isinstance(size, int) for size in x.shape)
    if not on_device or not known or x.shape != value.shape or x.shape[-1] % 2:
        return None
    half = x.shape[-1] // 2
    wanted = [range(x.shape[-1])[first::step][:half] for first in firsts]
    return source if [*indices, *others] == wanted else None


def _part(node: Any, step: int) -> tuple[Node | None, range]:
    """x of x[..., first:end:step] along its last dimension, and the indices that it keeps."""
    if not isinstance(node, Node) or node.target is not aten.slice.Tensor or node.kwargs:
        return None, range(0)
    arguments: Any = [*node.args, *(0, None, None, 1)[len(node.args) - 1 :]]
    x, dim, start, end, given = arguments
    size = x.meta["val"].shape[-1]
    numbers = all(isinstance(number, int) for number in (size, start, end))
    if not numbers or given != step or dim not in (-1, x.meta["val"].dim() - 1):
        return None, range(0)
    return x, range(size)[start:end:step]


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
    matrix = graph.get_attr(_matrix(module, value, node.target is aten.cat.default))
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


def _matrix(module: GraphModule, x: torch.Tensor, of_halves: bool) -> str:
    """The name of the matrix [width, width] that the graph holds for products of x."""
    width = int(x.shape[-1])
    kind = "halves" if of_halves else "pairs"
    name = f"_rotation_of_{kind}_{width}_{str(x.dtype).rpartition('.')[2]}"
    if not hasattr(module, name):
        with unset_fake_temporarily():
            matrix = torch.zeros(width, width, dtype=x.dtype)
            step = width // 2 if of_halves else 1
            first = torch.arange(width // 2) if of_halves else torch.arange(0, width, 2)
            matrix[first + step, first], matrix[first, first + step] = -1.0, 1.0
            module.register_buffer(name, matrix.to(x.device), persistent=False)
    return name
