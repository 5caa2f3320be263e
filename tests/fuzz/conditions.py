"""What may hold for the arguments of an operator, so that known.toml can name values, not names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from placement import DEVICE, to_device
from torch.utils import _pytree as pytree

Arguments = tuple[Any, tuple[Any, ...], dict[str, Any]]
_LARGEST_QUOTIENT = 2.0**46  # csrc/aten/pointwise/remainders.cpp
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def _floats(arguments: Arguments) -> Iterator[torch.Tensor]:
    """Tensors and numbers that are not whole, in double precision."""
    for leaf in pytree.tree_leaves(arguments):
        if isinstance(leaf, float):
            yield torch.tensor(leaf, dtype=torch.float64)
        elif isinstance(leaf, torch.Tensor) and leaf.is_complex():
            yield torch.view_as_real(leaf.detach().resolve_conj()).double()
        elif isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
            yield leaf.detach().double()


def _numbers(arguments: Arguments) -> Iterator[torch.Tensor]:
    """Tensors and numbers in double precision."""
    for leaf in pytree.tree_leaves(arguments):
        if isinstance(leaf, torch.Tensor) and not leaf.is_complex():
            yield leaf.detach().double()
        elif isinstance(leaf, int | float):
            yield torch.tensor(float(leaf), dtype=torch.float64)


def _is_any(arguments: Arguments, of: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    return any(bool(of(each).any()) for each in _floats(arguments))


def _beyond_integers(arguments: Arguments) -> bool:
    """A float that some integer dtype among the arguments, or int8 if there is none, lacks."""
    leaves = pytree.tree_leaves(arguments)
    dtypes = [leaf if isinstance(leaf, torch.dtype) else getattr(leaf, "dtype", None)
              for leaf in leaves]  # fmt: skip
    limits = [torch.iinfo(each) for each in dtypes if each in _INTEGERS]
    low = max((each.min for each in limits), default=-128)
    high = min((each.max for each in limits), default=127)
    return _is_any(arguments, lambda x: ~((x > low - 1) & (x < high + 1)))


def _large_quotient(arguments: Arguments, step: int = 1) -> bool:
    """Of the first number by the others; of the last one with a step of -1."""
    first, *others = [each.abs() for each in _numbers(arguments)][::step]
    divisors = [each[each > 0].min() for each in others if bool((each > 0).any())]
    dividends = first[first.isfinite()]
    return bool(divisors) and dividends.numel() > 0 and bool(
        dividends.max() / min(divisors) >= _LARGEST_QUOTIENT
    )  # fmt: skip


def _deficient_rank(arguments: Arguments) -> bool:
    for leaf in pytree.tree_leaves(arguments[0]):
        if not isinstance(leaf, torch.Tensor) or leaf.dim() < 2 or leaf.numel() == 0:
            continue
        matrix = leaf.detach().to(torch.complex128 if leaf.is_complex() else torch.float64)
        if not bool(matrix.isfinite().all()):
            return True
        values = torch.linalg.svdvals(matrix)
        smallest = values[..., 0] * max(leaf.shape[-2:]) * torch.finfo(torch.float32).eps
        if bool((values[..., -1] <= smallest).any()):
            return True
    return False


def _names_no_device(arguments: Arguments) -> bool:
    return not any(
        leaf == DEVICE or getattr(getattr(leaf, "device", leaf), "type", "") == DEVICE
        for leaf in pytree.tree_leaves(to_device(arguments))
        if not isinstance(leaf, torch.Tensor) or leaf.device.type != "cpu"
    )


def _has(test: Callable[[torch.Tensor], bool]) -> Callable[[Arguments], bool]:
    return lambda arguments: any(
        test(leaf) for leaf in pytree.tree_leaves(arguments) if isinstance(leaf, torch.Tensor)
    )


CONDITIONS: dict[str, Callable[[Arguments], bool]] = {
    "an element is not finite": lambda given: _is_any(given, lambda x: ~x.isfinite()),
    "a float is beyond the integers": _beyond_integers,
    "a quotient is 2^46 or more": _large_quotient,
    "a quotient by the first is 2^46 or more": lambda given: _large_quotient(given, -1),
    "a matrix has a deficient rank": _deficient_rank,
    "a square leaves the range": lambda given: _is_any(
        given, lambda x: (x.abs() > 1e18) | ((x != 0) & (x.abs() < 1e-18))
    ),
    "the call names no device": _names_no_device,
    "a tensor has no elements": _has(lambda each: each.numel() == 0),
    "a tensor has integers": _has(lambda each: each.dtype in (*_INTEGERS, torch.bool)),
    "a tensor has floats of 16 bits": _has(
        lambda each: each.is_floating_point() and each.itemsize == 2
    ),
    "dtypes of floats are mixed": lambda given: (
        len(
            {
                leaf.dtype
                for leaf in pytree.tree_leaves(given)
                if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
            }
        )
        > 1
    ),
    "elements are equal": _has(lambda each: each.unique().numel() < each.numel()),
}
"""Conditions by the names that `when` of known.toml has."""


def conditions_of(arguments: Arguments) -> list[str]:
    """The names of those that hold; one that cannot be computed does not."""
    held = []
    for name, holds in CONDITIONS.items():
        try:
            if holds(arguments):
                held.append(name)
        except Exception:
            continue
    return held
