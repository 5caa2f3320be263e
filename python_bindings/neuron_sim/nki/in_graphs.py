"""Makes calls of kernels nodes of the graphs that TorchDynamo captures.

Nothing here imports torch: TorchDynamo takes seconds to import, and most programs never do.
"""

from types import ModuleType
from typing import Any

from neuron_sim.after_import import after_import

_classes: list[type] = []


def capture_calls(kernel_class: type) -> None:
    """Makes calls of such kernels nodes, now or as soon as TorchDynamo is imported."""
    _classes.append(kernel_class)
    after_import("torch._dynamo.variables.builder", _follow)


def _follow(builder: ModuleType) -> None:
    for traces_numpy in (False, True):
        variables = builder.VariableBuilder._type_dispatch_impl(traces_numpy)
        variables.update(dict.fromkeys(_classes, _variable))


def _variable(builder: Any, kernel: Any) -> Any:
    from .torch.kernel_variable import wrap  # needs torch._dynamo

    return wrap(builder, kernel)
