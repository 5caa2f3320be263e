"""Writes of a torch.compile graph to its inputs that need no copy of them.

AOTAutograd makes a new tensor of what a function writes in place, and copies it to the input at the
end: for a cache of keys, of which a token writes one row, twice the bytes of the cache.
"""

from __future__ import annotations

from operator import getitem

import torch
from torch.fx import Graph, GraphModule, Node

from neuron_sim.torch_compile.graph import is_returned, shares_memory

aten = torch.ops.aten
_WRITES = (aten.copy.default, aten.index_copy.default, aten.slice_scatter.default)


def write_in_place(module: GraphModule) -> None:
    """Makes `copy`, `index_copy`, `slice_scatter` and NKI kernels, of an input that their result
    then replaces, write the input itself, where nothing reads its old contents later."""
    graph = module.graph
    _write_by_kernels(graph)
    order = {node: place for place, node in enumerate(graph.nodes)}
    for node in list(graph.nodes):
        if node.target is not aten.copy_.default or node.users:
            continue
        target, result = node.args
        if not _may_write(target, result, node, order):
            continue
        with graph.inserting_before(result):
            if result.target is aten.index_copy.default:
                written = graph.call_function(aten.index_copy_.default, result.args)
            elif result.target is aten.copy.default:
                written = graph.call_function(aten.copy_.default, result.args)
            else:
                source, *place = result.args[1:]
                part = graph.call_function(aten.slice.Tensor, (target, *place))
                part.meta = {"val": result.args[1].meta.get("val")}
                graph.call_function(aten.copy_.default, (part, _plain(source)))
                written = target
        result.replace_all_uses_with(written)
        graph.erase_node(node)
        graph.erase_node(result)
    graph.eliminate_dead_code()
    module.recompile()


def _write_by_kernels(graph: Graph) -> None:
    """A node nki_kernel_call(number, tensors, copied) (nki/torch/captured_call.py) writes to an
    input instead of its copy. Several of a call stay as they are."""
    order = {node: place for place, node in enumerate(graph.nodes)}
    for copy in list(graph.nodes):
        if copy.target is not aten.copy_.default or copy.users:
            continue
        target, result = copy.args
        call = result.args[0] if result.target is getitem else None
        if call is None or str(call.target) != "nki_kernel_call" or len(call.args[2]) != 1:
            continue
        if call.args[1][call.args[2][0]] is not target or target.op != "placeholder":
            continue
        is_last = _last_read(target, {call, copy}, order) < order[call]
        returned = is_returned(target) or is_returned(result)
        if call.args[1].count(target) > 1 or returned or not is_last:
            continue
        call.args = (*call.args[:2], ())
        result.replace_all_uses_with(target, lambda user, copy=copy: user is not copy)
        graph.erase_node(copy)
        graph.erase_node(result)


def _may_write(target: Node, result: Node, copy: Node, order: dict[Node, int]) -> bool:
    return (
        isinstance(result, Node)
        and target.op == "placeholder"
        and result.target
        in (aten.copy.default, aten.index_copy.default, aten.slice_scatter.default)
        and not result.kwargs
        and result.args[0] is target
        and not is_returned(result)
        and not is_returned(target)
        and _last_read(target, {result, copy}, order) < order[result]
    )


def _last_read(node: Node, without: set[Node], order: dict[Node, int]) -> int:
    """The place of the last node that reads it or a tensor that shares its memory."""
    last = -1
    for user in node.users:
        if user in without:
            continue
        last = max(last, order[user])
        if shares_memory(user, node):
            last = max(last, _last_read(user, without, order))
    return last


def _plain(source: Node) -> Node:
    """What `copy(part, values)` copies, where its sizes and dtype are those of the values."""
    if source.target is not aten.copy.default:
        return source
    values = source.args[1]
    found, given = source.meta.get("val"), values.meta.get("val")
    same = given is not None and found.shape == given.shape and found.dtype == given.dtype
    return values if same else source
