"""Schemas of operators from the signatures of functions and kernels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Optional

import torch

_NUMBERS = (bool, int, float, str)


def function_of(function: Any) -> Callable[..., Any]:
    """The Python function of a kernel; a function itself."""
    return function.func if hasattr(function, "traced") else function


def mutated_names(function: Any, names: str | Iterable[str]) -> frozenset[str]:
    """The names of mutates_args. ValueError for one that is not a parameter."""
    parameters = inspect.signature(function_of(function)).parameters
    if names == "unknown":
        return frozenset(parameters)
    if isinstance(names, str):
        raise ValueError(f"mutates_args is a set of names or 'unknown', not '{names}'.")
    for name in names:
        if name not in parameters:
            raise ValueError(
                f"mutates_args: '{name}' is no parameter; there are {', '.join(parameters)}."
            )
    return frozenset(names)


def schema_of(function: Any, mutated: frozenset[str]) -> str:
    """The schema of a function by its annotations; kernels may leave them out."""
    prototype = function_of(function)
    if hasattr(function, "traced"):
        prototype = _annotated(prototype)
    return torch.library.infer_schema(prototype, mutates_args=mutated)


def _annotated(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the kernel's parameters, where each unannotated one is a tensor."""
    signature = inspect.signature(kernel)
    parameters = [
        each.replace(annotation=_type_of(each), kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for each in signature.parameters.values()
    ]
    returned = signature.return_annotation
    if returned is inspect.Signature.empty:
        returned = torch.Tensor

    def prototype() -> None:
        """Has a signature only."""

    described: Any = prototype
    described.__signature__ = signature.replace(parameters=parameters, return_annotation=returned)
    return described


def _type_of(parameter: inspect.Parameter) -> Any:
    annotation, default = parameter.annotation, parameter.default
    if annotation in _NUMBERS or getattr(annotation, "__module__", "").startswith("torch"):
        return annotation
    if default is None:
        return Optional[torch.Tensor]  # noqa: UP045 - infer_schema knows this form
    return type(default) if type(default) in _NUMBERS else torch.Tensor


__all__ = ["function_of", "mutated_names", "schema_of"]
