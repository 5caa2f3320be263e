"""op_db and python_ref_db: each operator on the device against the CPU, forward and backward."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from comparison import DifferenceError, check_same
from observation import Activity, observe
from peculiarities import OWN_RANDOM, UNDEFINED, RandomCalls, placed, plain_name, without_ties
from placement import UnsupportedLayoutError, fresh, in_double, tensors, to_device
from torch.testing._internal.common_methods_invocations import op_db, python_ref_db

SEED = 5


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

    def results(arguments: Any) -> Any:
        return without_ties(call.op, arguments, call.run(arguments))

    return _check(call, results, results, activity, strict)


def check_backward(call: Call, activity: Activity, strict: bool) -> int:
    """The same for the gradients."""
    return _check(
        call, call.gradients, lambda there: call.gradients(there, on_device=True), activity, strict
    )


def _check(
    call: Call,
    here: Callable[[Any], Any],
    on_device: Callable[[Any], Any],
    activity: Activity,
    strict: bool,
) -> int:
    there = placed(call.op, call.arguments)
    refusal = None
    try:
        expected = here(fresh(call.arguments))
    except (NothingToCompareError, UnsupportedLayoutError):
        raise
    except Exception as error:
        refusal = error
    with observe(activity, strict):
        if refusal is not None:
            _check_refused(lambda: on_device(there), refusal)
            raise NothingToCompareError(f"the CPU refuses: {refusal}")
        found = on_device(there)
    if plain_name(call.op) in UNDEFINED or _draws_its_own(call):
        raise NothingToCompareError("the values are undefined or random")
    return check_same(found, expected, lambda: here(in_double(fresh(call.arguments))))


def _check_refused(call: Callable[[], Any], refusal: Exception) -> None:
    """What the CPU refuses the device refuses with the same class of error."""
    try:
        call()
    except type(refusal):
        return
    raise DifferenceError(f"the CPU refuses this: {type(refusal).__name__}: {refusal}")


def _draws_its_own(call: Call) -> bool:
    """Whether the result depends on random numbers that are the device's own."""
    if plain_name(call.op) not in OWN_RANDOM:
        return False
    with RandomCalls() as random:
        call.run(fresh(call.arguments))
    return random.seen


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
