"""Samples of op_db without elements: each operator gives what the CPU gives, or its error."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from comparison import DifferenceError, check_same
from observation import Activity, observe
from operators import Call, NothingToCompareError, calls, find
from peculiarities import UNDEFINED, placed, plain_name
from placement import fresh, is_dense, tensors
from refusals import described, error_of
from torch.utils import _pytree as pytree


def emptied(value: Any, dimension: int) -> Any:
    """`value` with every tensor that has the dimension narrowed to no elements along it."""

    def narrowed(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.dim() <= dimension:
            return leaf
        return leaf.detach().narrow(dimension, 0, 0).clone()

    return pytree.tree_map(narrowed, value)


def variants(call: Call) -> Iterator[Call]:
    """The call with tensors that are empty along dimension 0, 1 or 2."""
    given = tensors(call.arguments)
    if not all(is_dense(tensor) for tensor in given):
        return
    most = max((tensor.dim() for tensor in given), default=0)
    for dimension in range(min(most, 3)):
        yield Call(call.op, emptied(call.arguments, dimension), call.process)


def check_empty(name: str, samples: int, activity: Activity) -> int:
    """Compares shapes, dtypes and values or classes of errors; returns how many calls."""
    made = calls(find("op_db", name), torch.float32, samples, requires_grad=False)
    compared, wrong = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in itertools.chain.from_iterable(map(variants, made)):
            problem = _problem(call, activity)
            compared += 1
            if problem is not None:
                wrong.append(problem)
    if wrong:
        raise DifferenceError(f"{len(wrong)} calls: {wrong[0]}")
    if compared == 0:
        raise NothingToCompareError("no sample has a tensor with dimensions")
    return compared


def _problem(call: Call, activity: Activity) -> str | None:
    results: list[Any] = []

    def run(arguments: Any) -> None:
        results.append(call.run(arguments))

    there, here = placed(call.op, call.arguments), fresh(call.arguments)
    expected = error_of(lambda: run(here))
    with observe(activity):
        found = error_of(lambda: run(there))
    if type(found) is not type(expected):
        return f"{described(found)}, not {described(expected)}"
    if expected is not None or plain_name(call.op) in UNDEFINED | {"resize_"}:
        return None
    try:
        check_same(results[1], results[0], lambda: results[0])
    except AssertionError as error:
        return " ".join(str(error).split())[:200]
    return None
