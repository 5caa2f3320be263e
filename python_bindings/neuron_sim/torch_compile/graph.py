"""Preparation of a torch.compile graph for capture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from operator import attrgetter, getitem
from typing import Any

import torch
from torch._C import DispatchKey
from torch._guards import TracingContext
from torch._prims_common import suggest_memory_format
from torch.fx import GraphModule, Interpreter, Node

from neuron_sim import _C
from neuron_sim.settings import device_name
from neuron_sim.torch_compile.graph_source import source_of

aten = torch.ops.aten

# Operators with a device kernel that PyTorch would trace into index arithmetic and gathers.
_WHOLE = (
    aten.upsample_nearest1d,
    aten.upsample_nearest2d,
    aten._upsample_nearest_exact1d,
    aten._upsample_nearest_exact2d,
    aten.upsample_linear1d,
    aten.upsample_bilinear2d,
    aten.upsample_bicubic2d,
)
# `vec` overloads take sizes or factors; the operators that they call stay whole.
_KEYS = (DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd)


def _gradient_of_upsampling(
    grad: torch.Tensor, _output_size: Any, input_size: Any, *_arguments: Any, **_options: Any
) -> torch.Tensor:
    """Shape and layout of the gradient. PyTorch's own function of shapes takes no list of which
    some sizes are symbols and others numbers (internal assertion)."""
    layout = suggest_memory_format(grad)
    return grad.new_empty(input_size).contiguous(memory_format=layout)


for _packet in _WHOLE:
    _backward = getattr(aten, f"{_packet.__name__}_backward").default
    if DispatchKey.Meta not in _backward.py_kernels:
        _backward.py_impl(DispatchKey.Meta)(_gradient_of_upsampling)


@contextmanager
def kept_whole() -> Iterator[None]:
    """Within the block these operators are traced undecomposed."""
    with ExitStack() as stack:
        for packet in _WHOLE:
            for name in packet.overloads():
                stack.enter_context(_without_decomposition(getattr(packet, name)))
        yield


@contextmanager
def _without_decomposition(operator: Any) -> Iterator[None]:
    removed = {key: operator.py_kernels.pop(key) for key in _KEYS if key in operator.py_kernels}
    operator._dispatch_cache.clear()
    try:
        yield
    finally:
        operator.py_kernels.update(removed)
        operator._dispatch_cache.clear()


class ExpectedLayouts(Interpreter):
    """Runs a graph operator by operator; a result whose strides differ from those of the trace
    is copied into them, because later views rely on them. Tells a capture where each operator
    comes from; those that a pass of ours made belong to the one before them."""

    def run_node(self, node: Node) -> Any:
        if "stack_trace" in node.meta or "nn_module_stack" in node.meta:
            _C.set_capture_source(str(source_of(node)))
        return _with_layout(super().run_node(node), node.meta.get("val"))


def _with_layout(found: Any, expected: Any) -> Any:
    if isinstance(found, tuple | list) and isinstance(expected, tuple | list):
        return type(found)(map(_with_layout, found, expected))
    if not isinstance(found, torch.Tensor) or not isinstance(expected, torch.Tensor):
        return found
    if found.shape != expected.shape or not found.numel() or _same_strides(found, expected):
        return found
    strides = [int(stride) for stride in expected.stride()]
    if not all(isinstance(size, int) for size in expected.shape):
        return found  # sizes of another call: the strides may differ as well
    return found.new_empty_strided(found.shape, strides).copy_(found)


def _same_strides(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether elements lie alike; the stride of a dimension of size 1 says nothing."""
    both = zip(found.shape, found.stride(), expected.stride(), strict=True)
    return all(size == 1 or stride == other for size, stride, other in both)


def held_tensors(module: GraphModule, device_type: str) -> list[torch.Tensor]:
    """Tensors on such a device that the graph holds itself and reads as attributes."""
    targets = dict.fromkeys(str(n.target) for n in module.graph.nodes if n.op == "get_attr")
    values = (attrgetter(target)(module) for target in targets)
    return [v for v in values if isinstance(v, torch.Tensor) and v.device.type == device_type]


def parameters_and_buffers() -> list[int]:
    """The inputs of the graph that AOTAutograd is handing over that are parameters or buffers of
    the compiled module: their memory stays the same from call to call."""
    context = TracingContext.try_get()
    if context is None or context.fw_metadata is None:
        return []
    return list(context.fw_metadata.static_input_indices)


def objection(module: GraphModule, device_type: str) -> str:
    """Why a graph cannot be captured on such a device, whatever its inputs are; empty when it can.

    A capture keeps what the graph computes on the host as constants.
    """
    for node in module.graph.nodes:
        for value in _values(node):
            if value.device.type == device_type:
                continue
            if _is_random(node):
                return f"{node.target} draws random numbers on {value.device}"
            if any(user.op == "output" for user in node.users):
                return f"one of its outputs is on {value.device}"
    return ""


def _is_random(node: Node) -> bool:
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags


def _values(node: Node) -> list[torch.Tensor]:
    """The tensors that a node stood for in the trace."""
    value = node.meta.get("val")
    values = value if isinstance(value, tuple | list) else [value]
    return [value for value in values if isinstance(value, torch.Tensor)]


def remove_clones(module: GraphModule) -> None:
    """Removes copies of values that nobody changes, left by dropout in eval mode and `contiguous()`
    of contiguous tensors. Copies that the graph returns, which must be separate tensors, and copies
    of inputs that the graph writes stay."""
    graph = module.graph
    written = {
        node.args[0] for node in graph.nodes if node.target is aten.copy_.default and node.args
    }
    for node in list(graph.nodes):
        if node.target is not aten.clone.default or is_returned(node):
            continue
        source = node.args[0]
        if source in written or not _same_layout(node, source):
            continue
        node.replace_all_uses_with(source)
        graph.erase_node(node)
    graph.eliminate_dead_code()
    module.recompile()


def drop_pooling_indices(module: GraphModule) -> None:
    """Replaces max pooling whose indices nobody reads by one that computes the maxima alone."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.target is not aten.max_pool2d_with_indices.default:
            continue
        if node.meta["val"][0].device.type != device_name():
            continue
        if any(user.target is not getitem or user.args[1] != 0 for user in node.users):
            continue
        with graph.inserting_before(node):
            target = torch.ops.neuron_sim_graph.max_pool2d_values.default
            values = graph.call_function(target, node.args, node.kwargs)
            values.meta = {**node.meta, "val": node.meta["val"][0]}
        for user in list(node.users):
            user.replace_all_uses_with(values)
            graph.erase_node(user)
        graph.erase_node(node)
    module.recompile()


def join_activations(module: GraphModule) -> None:
    """Applies relu and gelu where the linear layer before them leaves PSUM: `addmm` and the
    function of its result, or of a view of it, become one operator, when nothing else reads the
    sums."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.target is aten.gelu.default:
            joins, use_gelu = node.kwargs.get("approximate", "none") == "none", True
        else:
            joins, use_gelu = node.target is aten.relu.default, False
        if not joins:
            continue
        sums = node.args[0]
        while (
            sums.target in (aten.view.default, aten._unsafe_view.default) and len(sums.users) == 1
        ):
            sums = sums.args[0]
        if sums.target is not aten.addmm.default or len(sums.users) != 1:
            continue
        with graph.inserting_before(sums):
            arguments = {**sums.kwargs, "use_gelu": use_gelu}
            target = aten._addmm_activation.default
            joined = graph.call_function(target, sums.args, arguments)
            joined.meta = dict(sums.meta)
        sums.replace_all_uses_with(joined)
        node.replace_all_uses_with(node.args[0])
        graph.erase_node(node)
        graph.erase_node(sums)
    module.recompile()


def is_returned(node: Node) -> bool:
    """Whether the graph returns it or a tensor that shares its memory."""
    return any(
        user.op == "output" or (shares_memory(user, node) and is_returned(user))
        for user in node.users
    )


def shares_memory(node: Node, source: Node) -> bool:
    """Whether a node may be a view of one of its arguments. Schemas do not always say so
    (_unsafe_view); the tensors that the graph was traced with do."""
    found, original = _values(node), _values(source)
    if not found or not original:
        return True
    memories = {value.untyped_storage()._cdata for value in original}
    return any(value.untyped_storage()._cdata in memories for value in found)


def _same_layout(node: Node, source: Any) -> bool:
    """Whether the clone has the strides of its source; views of it depend on them."""
    found, original = node.meta.get("val"), source.meta.get("val")
    if not isinstance(found, torch.Tensor) or not isinstance(original, torch.Tensor):
        return False
    return bool(found.stride() == original.stride())
