"""The cases of the suites, and what became of them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import torch
from observation import Activity

SUITES = ("forward", "backward", "modules", "optimizers", "references", "refusals", "empty")
# Samples per case: enough to meet the variants of an operator, few enough for `make test-torch`.
SAMPLES = {"forward": 8, "backward": 4, "modules": 8, "optimizers": 32, "references": 4,
           "empty": 2}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One entry of a suite in one dtype ("any" where its inputs have theirs)."""

    suite: str
    name: str
    dtype: str

    def __str__(self) -> str:
        return f"{self.suite} {self.name} {self.dtype}"

    @property
    def place(self) -> int:
        """A number that decides whether the case is in a sample: the same on every machine."""
        return zlib.crc32(str(self).encode())


@dataclass
class Outcome:
    """What became of a case."""

    status: str
    """passed, skipped (nothing to compare) or failed."""
    detail: str = ""
    values: int = 0
    activity: Activity = field(default_factory=Activity)


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _operator_cases(suite: str, database: str, backward: bool) -> list[Case]:
    from operators import databases, full_name

    cases = []
    for op in databases()[database]:
        if backward and not op.supports_autograd:
            continue
        kind = "supported_backward_dtypes" if backward else "supported_dtypes"
        for dtype in sorted(map(_dtype_name, getattr(op, kind)("cpu"))):
            cases.append(Case(suite, full_name(op), dtype))
    return cases


def cases_of(suite: str) -> list[Case]:
    """Every case of a suite, in the order of the database."""
    if suite == "forward":
        return _operator_cases(suite, "op_db", backward=False)
    if suite == "backward":
        return [c for c in _operator_cases(suite, "op_db", backward=True) if "32" in c.dtype]
    if suite == "empty":
        return [c for c in _operator_cases(suite, "op_db", backward=False) if c.dtype == "float32"]
    if suite == "references":
        return _operator_cases(suite, "python_ref_db", backward=False)
    if suite == "refusals":
        from refusals import entries

        return [Case(suite, name, "any") for name in entries()]
    from modules import module_db, optim_db

    if suite == "modules":
        return [
            Case(suite, info.name, name)
            for info in module_db
            for name in ("bfloat16", "float32")
            if getattr(torch, name) in info.dtypes
        ]
    return [Case(suite, info.optim_cls.__name__, "float32") for info in optim_db]


def run_case(case: Case) -> Outcome:
    """Runs one case; never raises for what the device does wrong."""
    from operators import NothingToCompareError
    from placement import UnsupportedLayoutError

    outcome = Outcome("passed")
    try:
        outcome.values = _check(case, outcome.activity)
    except (NothingToCompareError, UnsupportedLayoutError) as reason:
        outcome.status, outcome.detail = "skipped", str(reason)
    except Exception as error:
        text = " ".join(str(error).split())[:300]
        outcome.status, outcome.detail = "failed", f"{type(error).__name__}: {text}"
    return outcome


def _check(case: Case, activity: Activity) -> int:
    if case.suite == "refusals":
        from refusals import check_refusals

        return check_refusals(case.name, activity)
    dtype, samples = getattr(torch, case.dtype), SAMPLES[case.suite]
    if case.suite == "empty":
        from emptiness import check_empty

        return check_empty(case.name, samples, activity)
    if case.suite == "modules":
        from modules import check_module

        return check_module(case.name, dtype, samples, activity)
    if case.suite == "optimizers":
        from modules import check_optimizer

        return check_optimizer(case.name, samples, activity)
    from operators import check_operator, find

    database = "python_ref_db" if case.suite == "references" else "op_db"
    op = find(database, case.name)
    return check_operator(op, dtype, samples, case.suite == "backward", activity)
