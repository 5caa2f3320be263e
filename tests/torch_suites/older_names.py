"""Names of `torch.testing._internal` that the tests of PyTorch 2.6 import, where the installed
PyTorch has them elsewhere, under another name, or no longer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _unchanged(*_arguments: Any, **_options: Any) -> Callable[[Any], Any]:
    """A decorator that changes nothing: of a precision that only oneDNN on the CPU has."""

    def same(function: Any) -> Any:
        return function

    return same


def _skip_operators(test_class: str, test: str, skipped: Any) -> Callable[[Any], Any]:
    """2.6 names the class and the test; now the decorator reads them off the function."""
    from torch.testing._internal import common_device_type

    return common_device_type.skipOps(skipped)


def provide() -> None:
    """Adds the names that are missing to the modules of `torch.testing._internal`."""
    from torch.testing._internal import (
        common_cuda,
        common_device_type,
        common_methods_invocations,
        common_mkldnn,
        common_nn,
    )

    names: dict[Any, dict[str, Any]] = {
        common_cuda: {"tf32_is_not_fp32": lambda: False},
        common_mkldnn: {"bf32_on_and_off": _unchanged},
        common_nn: {"new_module_tests": common_nn.get_new_module_tests()},
        common_methods_invocations: {
            "binary_ufuncs_and_refs": common_methods_invocations.binary_ufuncs,
            "skip": common_device_type.skip,
            "xfail": common_device_type.xfail,
            "skipOps": _skip_operators,
        },
    }
    for module, added in names.items():
        for name, value in added.items():
            if not hasattr(module, name):
                setattr(module, name, value)
