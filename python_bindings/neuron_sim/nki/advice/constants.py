"""Sizes that a kernel states in its source, or gets as numbers: other values are traced anew."""

from __future__ import annotations

import ast
import functools
import math
import warnings
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

from neuron_sim.timeline.changes import Trial

from .calls import altered
from .results import Sample
from .sources import Source, codes, rewritten, source_of, with_code

_FACTORS = (64.0, 16.0, 4.0, 2.0, 8.0, 0.5, 0.25)
"""By which a size is tried; the nearest that divides a dimension counts."""
_FINER = (2.0, 1.5, 0.75)
"""The same for the best of them."""
_KEPT = 3
"""Values of a size whose results are compared, the fastest first, until one has the same."""
_MOST_TRACED = 200_000
"""Executed instructions of the programs that are traced for one kernel; one that fails counts as
many as the kernel itself has."""


class Size(NamedTuple):
    """A number of a kernel: `changed(value)` is a copy of its call with another value."""

    name: str
    value: int
    line: str
    changed: Callable[[int], Any]


def constant_trials(kernel: Any) -> Iterator[Trial]:
    """Other values of each size, those that divide a dimension of the arguments."""
    search = _Search(kernel)
    sample = Sample(kernel)
    for size in _sizes(kernel.call):
        for value, traced in search.best(size):
            yield Trial(
                f"{size.name} of another size",
                f"{size.name} = {value} instead of {size.value}"
                + (", {line}." if size.line else "."),
                "nki/deep-dives/nki_perf_guide.rst: Opt #5a, #5b, #9",
                functools.partial(getattr, traced, "program"),
                size.line,
                functools.partial(sample.equals, traced),
            )


class _Search:
    """Traces a kernel with other values of its sizes, as long as that does not take too much."""

    def __init__(self, kernel: Any) -> None:
        self._arguments = _contract(kernel)
        self._left, self._own = _MOST_TRACED, kernel.time()["instructions"]
        shapes = [each.shape for each in kernel.inputs]
        wholes = {size for shape in shapes for size in (*shape, math.prod(shape))}
        partitions = int(kernel.source.facts["limits.partitions"]["value"])
        wholes |= {size // partitions for size in wholes if size % partitions == 0}
        self._divisors = [divisors(size) for size in sorted(wholes)]

    def best(self, size: Size) -> list[tuple[int, Any]]:
        """(value, traced kernel) of the fastest values, the best first."""
        times: dict[int, tuple[float, Any]] = {}
        self._try(size, _FACTORS, size.value, times)
        ranked = sorted(times, key=lambda value: times[value][0])
        if ranked:
            self._try(size, _FINER, ranked[0], times)
        ranked = sorted(times, key=lambda value: times[value][0])[:_KEPT]
        return [(value, times[value][1]) for value in ranked]

    def _try(self, size: Size, factors: Any, base: int, times: dict[int, Any]) -> None:
        values = [
            min(whole, key=lambda each: abs(math.log(each / wanted)))
            for wanted in (base * factor for factor in factors)
            for whole in self._divisors
            if whole[-1] > wanted / 2
        ]
        for value in dict.fromkeys(values):
            if value == size.value or value in times or self._left <= 0:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    traced = size.changed(value).trace_anew()
                    if _contract(traced) != self._arguments:
                        self._left -= self._own
                        continue
                    timing = traced.time()
                except Exception:  # of the kernel's own checks, or of the chip's limits
                    self._left -= self._own
                    continue
            self._left -= timing["instructions"]
            times[value] = timing["body_us"], traced


def _contract(kernel: Any) -> list[tuple[Any, ...]]:
    """What callers see of the arguments of a traced kernel."""
    return [(each["dtype"], each["bytes"], each["read"], each["written"])
            for each in kernel.source.arguments]  # fmt: skip


def divisors(size: int) -> list[int]:
    """All divisors of a number, ascending."""
    small = [each for each in range(1, math.isqrt(size) + 1) if size % each == 0]
    return sorted({*small, *(size // each for each in small)})


def _sizes(call: Any) -> Iterator[Size]:
    """The sizes of a call of a kernel that is a plain function of a file: assigned in it, global to
    it, and its parameters."""
    function = call.function
    if not isinstance(function, FunctionType):
        return
    yield from _of_parameters(call)
    if (source := source_of(call)) is None:
        return
    for name, node in _assigned(source.own.body):
        yield Size(name, node.value, f"{source.file}:{node.lineno}", _edit(call, source, node))
    read = _names(function)
    for name, node in _assigned(source.tree.body):
        if name in read and function.__globals__.get(name) == node.value:
            yield Size(name, node.value, f"{source.file}:{node.lineno}", _global(call, name))


def _of_parameters(call: Any) -> Iterator[Size]:
    names = list(call.parameters)
    given = dict(zip(names, call.args, strict=False)) | call.kwargs
    for name, parameter in call.parameters.items():
        value = given.get(name, parameter.default)
        if type(value) is int and value > 0 and parameter.kind is not parameter.POSITIONAL_ONLY:
            yield Size(name, value, "", _argument(call, name, names))


def _argument(call: Any, name: str, names: list[str]) -> Callable[[int], Any]:
    def changed(value: int) -> Any:
        position = names.index(name)
        if position < len(call.args):
            args = (*call.args[:position], value, *call.args[position + 1 :])
            return altered(call, args=args)
        return altered(call, kwargs=call.kwargs | {name: value})

    return changed


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[str, Any]]:
    """(name, number) of assignments of positive whole numbers, also of several at once."""
    for statement in body:
        for node in ast.walk(statement):
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            for left, right in pairs:
                if isinstance(left, ast.Name) and isinstance(right, ast.Constant):
                    if type(right.value) is int and right.value > 0:
                        yield left.id, right


def _edit(call: Any, source: Source, node: ast.Constant) -> Callable[[int], Any]:
    """The call of the function whose source has another number."""
    place = f"{node.lineno}:{node.col_offset}"
    return lambda value: rewritten(call, source, [(node, node, str(value))], f"{place} = {value}")


def _global(call: Any, name: str) -> Callable[[int], Any]:
    """The call of the function, and of functions of its file, with another global number."""
    function = call.function

    def changed(value: int) -> Any:
        names = function.__globals__ | {name: value}
        for key, other in function.__globals__.items():
            if isinstance(other, FunctionType) and other.__globals__ is function.__globals__:
                names[key] = with_code(other, other.__code__, names)
        return altered(call, function=with_code(function, function.__code__, names))

    return changed


def _names(function: FunctionType) -> set[str]:
    """Globals that a function reads, or functions of its file that it calls."""
    seen: set[str] = set()
    pending = [function]
    while pending:
        current = pending.pop()
        for code in (current.__code__, *codes(current.__code__)):
            for name in set(code.co_names) - seen:
                seen.add(name)
                other = current.__globals__.get(name)
                if isinstance(other, FunctionType) and other.__globals__ is current.__globals__:
                    pending.append(other)
    return seen
