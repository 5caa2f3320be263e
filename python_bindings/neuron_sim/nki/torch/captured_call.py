"""The node of a captured graph that is a call of a kernel: a higher-order operator, as PyTorch's
for Triton kernels (torch/_higher_order_ops/triton_kernel_wrap.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch._C import DispatchKey
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    disable_proxy_modes_tracing,
    track_tensor_tree,
)
from torch.fx.node import has_side_effect
from torch.utils import _pytree as pytree

from neuron_sim.nki.launch import torch_tensors
from neuron_sim.nki.launch.calls import filled


@dataclass(frozen=True)
class BoundKernel:
    """A kernel with its arguments, in which a Placeholder stands for each tensor."""

    kernel: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    written: tuple[int, ...]
    """Positions of the tensors that it writes to."""
    results: tuple[int, ...]
    """Places of its new tensors among the leaves of what it returns."""

    def run(self, tensors: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """The new tensors."""
        args = filled(self.args, tensors)
        kwargs = filled(self.kwargs, tensors)
        with torch.no_grad(), torch_tensors.operator_call(self.kernel.__name__, {}):
            leaves = pytree.tree_leaves(self.kernel(*args, **kwargs))
        return tuple(leaves[place] for place in self.results)


bound_kernels: list[BoundKernel] = []
"""The kernels of all captured calls, by the numbers that graphs call them by."""


class _CapturedCall(HigherOrderOperator):
    """nki_kernel_call(number, tensors, copied): the new tensors of a kernel. It writes to copies of
    the tensors at the positions `copied`, and they follow."""

    def __init__(self) -> None:
        super().__init__("nki_kernel_call")

    def __call__(self, number: int, tensors: Any, copied: Any) -> tuple[torch.Tensor, ...]:
        """Dispatches the call."""
        return super().__call__(number, tensors, copied)


nki_kernel_call = _CapturedCall()
has_side_effect(nki_kernel_call)  # a call without results that anything reads may write arguments


@nki_kernel_call.py_impl(DispatchKey.CompositeExplicitAutograd)
@nki_kernel_call.py_impl(DispatchKey.Meta)
def _run(number: int, tensors: Any, copied: Any) -> tuple[torch.Tensor, ...]:
    tensors = [each.clone() if i in copied else each for i, each in enumerate(tensors)]
    return (*bound_kernels[number].run(tensors), *(tensors[position] for position in copied))


@nki_kernel_call.py_impl(FakeTensorMode)
def _shapes(mode: Any, number: int, tensors: Any, copied: Any) -> tuple[torch.Tensor, ...]:
    with mode:
        return _run(number, tensors, copied)


@nki_kernel_call.py_autograd_impl
def _without_gradient(number: int, tensors: Any, copied: Any) -> tuple[torch.Tensor, ...]:
    with torch._C._AutoDispatchBelowAutograd():
        return nki_kernel_call(number, tensors, copied)


@nki_kernel_call.py_impl(ProxyTorchDispatchMode)
def _traced(mode: Any, number: int, tensors: Any, copied: Any) -> Any:
    with disable_proxy_modes_tracing():
        results = nki_kernel_call(number, tensors, copied)
    proxies = pytree.tree_map(mode.tracer.unwrap_proxy, tensors)
    node = mode.tracer.create_proxy(
        "call_function",
        nki_kernel_call,
        (number, proxies, copied),
        {},
        name=bound_kernels[number].kernel.__name__,
    )
    return track_tensor_tree(results, node, constant=None, tracer=mode.tracer)


@nki_kernel_call.py_functionalize_impl
def _functional(context: Any, number: int, tensors: Any, copied: Any) -> Any:
    written = copied or bound_kernels[number].written
    with context.redispatch_to_next():
        outputs = nki_kernel_call(number, context.unwrap_tensors(tensors), written)
    if copied:
        return context.wrap_tensors(outputs)
    count = len(outputs) - len(written)
    for position, contents in zip(written, outputs[count:], strict=True):
        context.replace(tensors[position], contents)
        context.mark_mutation_hidden_from_autograd(tensors[position])
        context.commit_update(tensors[position])
        context.sync(tensors[position])
    return context.wrap_tensors(outputs[:count])


for _key in (
    DispatchKey.PythonDispatcher,
    DispatchKey.PythonTLSSnapshot,
    DispatchKey.ADInplaceOrView,
    DispatchKey.BackendSelect,
    DispatchKey.AutocastCPU,
    DispatchKey.AutocastPrivateUse1,  # type: ignore[attr-defined]
):
    nki_kernel_call.fallthrough(_key)

__all__ = ["BoundKernel", "bound_kernels", "nki_kernel_call"]
