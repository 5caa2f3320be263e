"""Kernels, and Python functions that call kernels, as operators of torch.library."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch

import neuron_sim.torch_device  # noqa: F401 - the device, also without autoload
from neuron_sim.nki.launch import torch_tensors

from .signatures import function_of, mutated_names, schema_of


def wrap_nki(kernel: Any) -> Any:
    """The kernel itself, which takes tensors: wrap_nki(kernel)[grid](tensors).

    TypeError for something that nki.jit did not make.
    """
    if not hasattr(kernel, "traced"):
        raise TypeError(
            f"wrap_nki takes a kernel of nki.jit, not {getattr(kernel, '__name__', kernel)!r}."
        )
    return kernel


def nki_op(
    name: str,
    function: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str] = (),
    schema: str | None = None,
    backward: Callable[..., Any] | None = None,
) -> Any:
    """An operator "namespace::name" from a function that calls kernels, or from a kernel.

    mutates_args: parameters that it writes to; writing to others is a RuntimeError. schema: as in
    torch.library; from the annotations otherwise, where a parameter of a kernel without annotation
    is a tensor (or of its default's type), and a kernel returns one tensor. backward: a function or
    kernel of (gradients of the results, the operator's arguments) that returns the gradients of its
    tensors, as a tuple where there are several; it becomes the operator "namespace::name_backward"
    when it is a kernel. Returns what torch.library.custom_op does: callable, with
    register_autograd. A result that is an argument (a kernel that returns what it writes to)
    becomes a copy, because results of an operator do not share memory with its arguments.
    """
    if function is None:
        return functools.partial(
            _register, name, mutates_args=mutates_args, schema=schema, backward=backward
        )
    return _register(name, function, mutates_args=mutates_args, schema=schema, backward=backward)


def _register(
    name: str,
    function: Callable[..., Any],
    *,
    mutates_args: str | Iterable[str],
    schema: str | None,
    backward: Callable[..., Any] | None,
) -> Any:
    mutated = mutated_names(function, mutates_args)
    body = _body(name, function, mutated)
    written = schema or schema_of(function, mutated)
    operator = torch.library.custom_op(name, body, mutates_args=mutated, schema=written)
    operator.register_fake(body)
    if backward is not None:
        _register_backward(name, operator, function, backward)
    return operator


def _body(name: str, function: Callable[..., Any], mutated: frozenset[str]) -> Callable[..., Any]:
    """`function` without gradients, limited to its declared writes, with unshared results."""
    parameters = list(inspect.signature(function_of(function)).parameters)

    def body(*args: Any, **kwargs: Any) -> Any:
        args = tuple(_number(each) for each in args)
        kwargs = {key: _number(each) for key, each in kwargs.items()}
        given = {**dict(zip(parameters, args, strict=False)), **kwargs}
        tensors = {key: _tensors(value) for key, value in given.items()}
        fixed = {
            _storage(tensor): key
            for key, values in tensors.items()
            if key not in mutated
            for tensor in values
        }
        storages = {_storage(tensor) for values in tensors.values() for tensor in values}
        with torch.no_grad(), torch_tensors.operator_call(name, fixed):
            return _unshared(function(*args, **kwargs), storages)

    return body


def _number(value: Any) -> Any:
    """Symbolic numbers of torch.compile as numbers: a program is for one value of each."""
    kinds = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
    kind = kinds.get(type(value))
    return value if kind is None else kind(value)


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [each for each in value if isinstance(each, torch.Tensor)]
    return []


def _storage(tensor: torch.Tensor) -> int:
    return torch_tensors.storage_of(tensor)


def _unshared(value: Any, storages: set[int]) -> Any:
    """The results; those that share memory with the arguments are copied."""
    if isinstance(value, torch.Tensor):
        return value.clone() if _storage(value) in storages else value
    if isinstance(value, (list, tuple)):
        return type(value)(_unshared(each, storages) for each in value)
    return value


def _register_backward(
    name: str, operator: Any, function: Callable[..., Any], backward: Callable[..., Any]
) -> None:
    """Autograd by a function or kernel of the results' gradients and the operator's arguments."""
    is_kernel = hasattr(backward, "traced")
    compute = nki_op(f"{name}_backward", backward) if is_kernel else backward

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*(each for each in inputs if isinstance(each, torch.Tensor)))
        ctx.others = [None if isinstance(each, torch.Tensor) else (each,) for each in inputs]

    def gradients(ctx: Any, *grads: Any) -> Any:
        saved = iter(ctx.saved_tensors)
        inputs = [next(saved) if other is None else other[0] for other in ctx.others]
        found = compute(*grads, *inputs)
        computed = iter(found if isinstance(found, (list, tuple)) else (found,))
        return tuple(next(computed, None) if other is None else None for other in ctx.others)

    operator.register_autograd(gradients, setup_context=setup_context)


__all__ = ["nki_op", "wrap_nki"]
