"""op_db and python_ref_db: each operator on the device against the CPU, forward and backward."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from comparison import check_same
from observation import Activity, observe
from placement import fresh, in_double, tensors, to_device
from torch.testing._internal.common_methods_invocations import op_db, python_ref_db

SEED = 5
# Their results are whatever was in memory: structure is all there is to compare.
UNDEFINED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
             "new_empty_strided"}  # fmt: skip


class NothingToCompareError(Exception):
    """The operator has no sample, or none with values, for this dtype."""


@dataclass
class Call:
    """One sample: the operator and its arguments on the CPU."""

    op: Any
    arguments: tuple[Any, tuple[Any, ...], dict[str, Any]]
    process: Callable[[Any], Any]

    def run(self, arguments: Any) -> Any:
        torch.manual_seed(SEED)
        first, others, options = arguments
        return self.op(first, *others, **options)

    def gradients(self, arguments: Any, on_device: bool = False) -> list[Any]:
        """Gradients of the differentiable results by the arguments that require one."""
        outputs = [t for t in tensors(self.process(self.run(arguments))) if t.requires_grad]
        inputs = [t for t in tensors(arguments) if t.requires_grad]
        if not outputs or not inputs:
            raise NothingToCompareError("no result is differentiable")
        generator = torch.Generator().manual_seed(SEED)
        seeds = [torch.randn(t.shape, generator=generator).to(t.dtype) for t in outputs]
        if on_device:
            seeds = to_device(seeds)
        return list(torch.autograd.grad(outputs, inputs, seeds, allow_unused=True))


def find(database: str, name: str) -> Any:
    """The entry "name" or "name.variant" of "op_db" or "python_ref_db"."""
    for op in databases()[database]:
        if full_name(op) == name:
            return op
    raise KeyError(f"{database} has no entry {name}")


def databases() -> dict[str, list[Any]]:
    return {"op_db": op_db, "python_ref_db": python_ref_db}


def full_name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def calls(op: Any, dtype: torch.dtype, samples: int, requires_grad: bool) -> Iterator[Call]:
    """At most `samples` samples, the same ones each time."""
    torch.manual_seed(SEED)
    made = op.sample_inputs("cpu", dtype, requires_grad=requires_grad)
    for sample in itertools.islice(made, samples):
        yield Call(op, (sample.input, sample.args, sample.kwargs), sample.output_process_fn_grad)


def check_forward(call: Call, activity: Activity, strict: bool) -> int:
    """Compares one call; returns the number of values. Fallbacks raise if `strict`."""
    expected = call.run(fresh(call.arguments))
    there = to_device(call.arguments)
    with observe(activity, strict):
        found = call.run(there)
    if call.op.name.removeprefix("_refs.") in UNDEFINED:
        raise NothingToCompareError("the values are undefined")
    return check_same(found, expected, lambda: call.run(in_double(fresh(call.arguments))))


def check_backward(call: Call, activity: Activity, strict: bool) -> int:
    """The same for the gradients."""
    expected = call.gradients(fresh(call.arguments))
    there = to_device(call.arguments)
    with observe(activity, strict):
        found = call.gradients(there, on_device=True)
    return check_same(found, expected, lambda: call.gradients(in_double(fresh(call.arguments))))


def check_operator(
    op: Any, dtype: torch.dtype, samples: int, backward: bool, activity: Activity
) -> int:
    """Compares every sample; returns the number of values compared, at least one."""
    values = 0
    check = check_backward if backward else check_forward
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in calls(op, dtype, samples, requires_grad=backward):
            try:
                values += check(call, activity, strict=False)
            except NothingToCompareError:
                continue
    if values == 0:
        raise NothingToCompareError("no sample has values to compare")
    return values
