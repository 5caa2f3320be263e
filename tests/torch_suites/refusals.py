"""What the CPU refuses: `error_inputs` of op_db and python_ref_db, on the device."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from comparison import DifferenceError
from observation import Activity, observe
from operators import NothingToCompareError, databases, full_name
from peculiarities import placed
from placement import UnsupportedLayoutError, fresh


def entries() -> dict[str, Any]:
    """The entries that have error inputs, by name."""
    return {
        full_name(op): op
        for database in databases().values()
        for op in database
        if op.error_inputs_func is not None
    }


def error_of(call: Callable[[], Any]) -> Exception | None:
    """What `call` raises."""
    try:
        call()
    except Exception as error:
        return error
    return None


def check_refusals(name: str, activity: Activity) -> int:
    """Raises DifferenceError unless the device refuses what the CPU refuses with an error of the
    very same class; the number of error inputs that the CPU refuses, at least one."""
    op = entries()[name]
    refused = 0
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index, given in enumerate(op.error_inputs("cpu")):
            sample = given.sample_input
            arguments = (sample.input, sample.args, sample.kwargs)
            try:
                here, there = fresh(arguments), placed(op, arguments)
            except UnsupportedLayoutError:
                continue

            def call(values: Any) -> Any:
                return op(values[0], *values[1], **values[2])

            expected = error_of(lambda values=here: call(values))
            if expected is None:
                continue
            refused += 1
            with observe(activity):
                found = error_of(lambda values=there: call(values))
            if type(found) is not type(expected):
                wrong.append(f"{index}: {described(found)}, not {described(expected)}")
    if wrong:
        raise DifferenceError("; ".join(wrong))
    if refused == 0:
        raise NothingToCompareError("the CPU refuses no error input")
    return refused


def described(error: Exception | None) -> str:
    """An error in one line."""
    if error is None:
        return "no error"
    return f"{type(error).__name__} {' '.join(str(error).split())[:90]!r}"
