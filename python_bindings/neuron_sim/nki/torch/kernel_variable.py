"""Kernels as TorchDynamo sees them: a call becomes one node of the graph."""

from __future__ import annotations

from typing import Any, Never

import torch
from torch._dynamo import graph_break_hints, variables
from torch._dynamo.exc import unimplemented
from torch._dynamo.guards import GuardBuilder, install_guard
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builder import wrap_fx_proxy
from torch.utils import _pytree as pytree

from neuron_sim.nki.launch import torch_tensors
from neuron_sim.nki.launch.arrays import Placeholder
from neuron_sim.nki.launch.calls import filled
from neuron_sim.nki.launch.traced_kernel import Output

from .captured_call import BoundKernel, bound_kernels, nki_kernel_call


def wrap(builder: Any, kernel: Any) -> KernelVariable:
    """The variable of a kernel that a graph's function reads."""
    builder.install_guards(GuardBuilder.ID_MATCH)
    return KernelVariable(kernel, source=builder.source)


class KernelVariable(VariableTracker):
    """A kernel of nki.jit, maybe with a grid."""

    def __init__(self, kernel: Any, **options: Any) -> None:
        super().__init__(**options)
        self.kernel = kernel

    def python_type(self) -> type:
        """The class of the kernel."""
        return type(self.kernel)

    def mp_subscript_impl(self, tx: Any, key: VariableTracker) -> VariableTracker:
        """kernel[grid]."""
        return KernelVariable(self.kernel[_plain(self.kernel, key, [])])

    def call_obj_hasattr(self, tx: Any, name: str) -> Any:
        """hasattr(kernel, name), by which wrap_nki knows kernels."""
        return variables.ConstantVariable.create(hasattr(self.kernel, name))

    def call_function(
        self, tx: Any, args: list[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        """A node nki_kernel_call. What the kernel refuses, also to be traced, it refuses where it
        is called without a graph: there its own error says why."""
        tensors: list[VariableTracker] = []
        plain_args = tuple(_plain(self.kernel, value, tensors) for value in args)
        plain_kwargs = {key: _plain(self.kernel, value, tensors) for key, value in kwargs.items()}
        proxies = [variable.as_proxy() for variable in tensors]
        examples = [proxy.node.meta["example_value"] for proxy in proxies]
        try:
            call = self.kernel.call(*filled(plain_args, examples), **filled(plain_kwargs, examples))
            torch_tensors.kind_of(call.name, call.arrays, call.inputs)
            traced = call.trace()
        except Exception as error:
            _break(self.kernel, str(error), error)
        # The kernel numbers its arrays by its signature.
        places = [_place_of(array, examples) for array in call.arrays]
        written = [
            place
            for place, facts in zip(places, traced.source.arguments, strict=False)
            if facts["written"]
        ]
        if any(places.count(place) > 1 for place in written):
            _break(self.kernel, "it writes to a tensor that it gets twice")
        leaves = pytree.tree_leaves(traced.returned)
        new = {  # by what they are: a kernel may return a tensor twice
            (leaf.number, leaf.shape): place
            for place, leaf in enumerate(leaves)
            if isinstance(leaf, Output) and leaf.number >= len(places)
        }
        bound = BoundKernel(
            self.kernel, plain_args, plain_kwargs, tuple(written), tuple(new.values())
        )
        bound_kernels.append(bound)
        node = tx.output.create_proxy(
            "call_function", nki_kernel_call, (len(bound_kernels) - 1, tuple(proxies), ()), {}
        )
        results = wrap_fx_proxy(tx, node)
        items = dict(zip(new, results.unpack_var_sequence(tx), strict=True))

        def variable_of(leaf: Any) -> Any:
            if not isinstance(leaf, Output):
                return leaf
            if leaf.number < len(places):
                return tensors[places[leaf.number]]
            return items[leaf.number, leaf.shape]

        return VariableTracker.build(tx, pytree.tree_map(variable_of, traced.returned))


def _place_of(array: Any, examples: list[torch.Tensor]) -> int:
    return next(place for place, example in enumerate(examples) if example is array)


def _plain(kernel: Any, variable: VariableTracker, tensors: list[VariableTracker]) -> Any:
    """The value of an argument, with Placeholders for tensors, which are appended to `tensors`."""
    variable = variable.realize()
    if variable.is_tensor():
        tensors.append(variable)
        return Placeholder(len(tensors) - 1)
    if variable.is_python_constant():
        return variable.as_python_constant()
    if isinstance(variable, variables.SymNodeVariable):
        return variable.evaluate_expr()
    if isinstance(variable, variables.BaseListVariable):
        items = [_plain(kernel, item, tensors) for item in variable.items]
        return variable.python_type()(items)
    if isinstance(variable, variables.ConstDictVariable):
        return {
            key.vt.as_python_constant(): _plain(kernel, item, tensors)
            for key, item in variable.items.items()
        }
    value = getattr(variable, "value", None)
    if value is None:
        _break(kernel, f"TorchDynamo does not know the value of an argument, {variable}")
    if variable.source is not None:
        install_guard(variable.source.make_guard(GuardBuilder.ID_MATCH))
    return value


def _break(kernel: Any, why: str, error: Exception | None = None) -> Never:  # type: ignore[misc]
    unimplemented(
        gb_type="call of an NKI kernel",
        context=f"kernel '{kernel.__name__}'",
        explanation=f"The kernel is called between two graphs: {why}",
        hints=[*graph_break_hints.USER_ERROR],
        from_exc=error,
    )


__all__ = ["KernelVariable", "wrap"]
