"""check(): everything that is known about a kernel before it sees a chip, as one JSON object."""

import inspect
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from neuron_sim import _core
from neuron_sim.sanitizer import checking
from neuron_sim.settings import nki_version
from neuron_sim.terminal.exit_codes import failures_of, sentence_of
from neuron_sim.timeline.advice import advise
from neuron_sim.timeline.interval import COVERAGE, interval, kind_of

from ..launch import sanitize
from ..legality.judge import collecting
from ..legality.rules import rule_of_error, rules
from ..legality.violations import sentence
from ..typing.annotations import is_mutable
from .arguments import check_arguments
from .comparison import as_list, difference, widened
from .values import input_sets

SCHEMA = 1
"""Version of the object; a later one may have more fields, and has those of this one."""

PARTS = ("legal", "correct", "clean")
"""The parts that pass or fail, in the order in which they are judged. One that was not judged, as
after a kernel that cannot be traced, is None."""

_FILE = re.compile(r'File "([^"]*)", line (\d+)')


def check(
    kernel: Any,
    inputs: Mapping[str, Any],
    reference: Callable[..., Any] | None = None,
    *,
    legality: str = "compiler",
    seeds: Sequence[int] = (0, 1),
    tolerance: float | None = None,
) -> dict[str, Any]:
    """The verdict on an NKI kernel.

    inputs: by parameter. Declared arrays, nki.typing.tensor[shape, dtype], get random and
    adversarial values; arrays, such as indices, keep theirs. reference: gets the same by name and
    returns what the kernel should (low-precision arrays come as fp32). legality: the level whose
    rules count. tolerance: relative, in place of the dtype's. The object has schema, kernel,
    architecture, nki_version (whose rules count, settings.nki_version()), passed, the PARTS, and
    performance (None for a kernel that cannot run). TypeError and ValueError for arguments that
    cannot be used (arguments.py), ProgramError for a reference that fails.
    """
    check_arguments(kernel, inputs, reference, legality, seeds, tolerance)
    runs = list(input_sets(inputs, seeds))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of spills, which break a rule
        broken, traced, error, findings = _traced(kernel, runs[0][1])
        call = kernel.call(**runs[0][1])
        result: dict[str, Any] = {
            "schema": SCHEMA,
            "kernel": getattr(kernel, "__name__", str(kernel)),
            "architecture": call.architecture,
            "nki_version": nki_version(),
            "legal": _legal(call, broken, error, legality),
            "correct": None,
            "clean": _clean(findings),
            "performance": None,
        }
        if traced is not None:
            result["correct"] = _correct(kernel, traced, runs, reference, tolerance)
            result["performance"] = _performance(traced)
    result["passed"] = all(result[part] is None or result[part]["passed"] for part in PARTS)
    return result


def _traced(kernel: Any, arguments: dict[str, Any]) -> tuple[list, Any, Exception | None, list]:
    """(violations, the traced kernel or None, why it cannot run, the sanitizer's findings)."""
    traced = error = None
    with collecting() as broken, checking.sanitize(raise_error=False) as findings:
        try:
            call = kernel.call(**_copied(arguments))
            traced = call.trace_anew()
            sanitize.report(traced.findings)
            traced.run(call.arrays)
        except Exception as raised:  # of the chip's limits, or of the kernel's own code
            traced, error = None, raised
    return broken, traced, error, findings


def _copied(arguments: dict[str, Any]) -> dict[str, Any]:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}


def _legal(call: Any, broken: list, error: Exception | None, level: str) -> dict[str, Any]:
    told = [
        {
            "rule": violation.rule,
            "refused": rules()[violation.rule].is_refused(level),
            "line": violation.place,
            "sentence": sentence(call.name, violation),
            "source": rules()[violation.rule].source,
        }
        for violation in dict.fromkeys(broken)
    ]
    told.sort(key=lambda row: not row["refused"])
    if error is not None:
        places = _FILE.findall("\n".join(getattr(error, "__notes__", ())))
        row = {"line": ":".join(places[0]) if places else "", "refused": True}
        told.append(row | _rule_of(error, call))
        told.sort(key=lambda row: not row["refused"])
    return {"passed": not any(row["refused"] for row in told), "level": level, "rules": told}


def _rule_of(error: Exception, call: Any) -> dict[str, str]:
    """Rule, sentence and source of why a kernel cannot run; errors without a rule name their
    type."""
    text = sentence_of(error)
    rule = rule_of_error(text, call.language, call.generation)
    if rule is None:
        return {"rule": type(error).__name__, "sentence": text, "source": ""}
    return {
        "rule": rule.id,
        "sentence": f"{text.rstrip('.')}; {rule.remedy or rule.summary}.",
        "source": rule.source,
    }


def _clean(findings: list) -> dict[str, Any]:
    told = [
        {name: getattr(finding, name) for name in ("rule", "severity", "message", "remedy")}
        | {"line": finding.source_line}
        for finding in findings
    ]
    return {"passed": all(row["severity"] != "error" for row in told), "findings": told}


def _correct(
    kernel: Any,
    traced: Any,
    runs: list[tuple[str, dict[str, Any]]],
    reference: Callable[..., Any] | None,
    tolerance: float | None,
) -> dict[str, Any] | None:
    """What the runs returned; None without a reference, where no input was touched."""
    parameters = inspect.signature(kernel.func).parameters.items()
    mutable = {name for name, parameter in parameters if is_mutable(parameter.annotation)}
    first_wrong, cheats, checked = None, [], 0
    for name, arguments in runs if reference is not None else runs[:1]:
        given = _copied(arguments)
        wrong: dict[str, Any] | None = None
        try:
            got = as_list(traced.run(kernel.call(**given).arrays))
        except Exception as error:  # of indices that it reads, say
            wrong, got = {"output": None, "sentence": sentence_of(error)}, []
        cheats += _cheats(given, {k: v for k, v in arguments.items() if k not in mutable}, got)
        if reference is not None and wrong is None:
            with failures_of("the reference"):
                widths = {key: widened(value) for key, value in _copied(arguments).items()}
                expected = as_list(reference(**widths))
            wrong = difference(got, expected, tolerance)
        checked += 1
        if wrong is not None and first_wrong is None:
            written = _lines_that_wrote(traced, wrong["output"], wrong.get("index"))
            first_wrong = {"inputs": name, **wrong, "written_at": written}
    cheats = list(dict.fromkeys(cheats))
    if reference is None and not cheats:
        return None
    passed = first_wrong is None and not cheats
    return {"passed": passed, "runs": checked, "first_wrong": first_wrong, "cheats": cheats}


def _cheats(given: dict[str, Any], before: dict[str, Any], got: list[np.ndarray]) -> list[str]:
    """What a kernel did with its inputs, by name `before` the run, instead of computing a new
    result: clauses."""
    arrays = {name: given[name] for name in before if isinstance(given[name], np.ndarray)}
    cheats = [
        f"input '{name}' is overwritten"
        for name, array in arrays.items()
        if array.tobytes() != before[name].tobytes()
    ]
    for number, output in enumerate(got):
        cheats += [
            f"output {number} is the memory of input '{name}'"
            for name, array in arrays.items()
            if np.shares_memory(output, array)
        ]
    return cheats


def _lines_that_wrote(traced: Any, output: int | None, index: list[int] | None) -> list[str]:
    """The line of the instruction that wrote an element of an output last; after it those that may
    have since, as data decides."""
    numbers = traced.returned_numbers()
    if output is None or index is None or output >= len(numbers):
        return []
    shape, _ = traced.arguments[numbers[output]]
    size = traced.source.arguments[numbers[output]]["bytes"] // math.prod(shape)
    element = int(np.ravel_multi_index(index, shape))
    lines = _core.last_writers(traced.source, numbers[output], element * size)
    return [line for line in dict.fromkeys(lines) if line]


def _performance(traced: Any) -> dict[str, Any]:
    """Simulated times, bytes of HBM against the least, what bounds the kernel and what would help
    most."""
    timing, counters = traced.time(), traced.program.counters(log=traced.log)
    error, advice = interval(kind_of([timing])), advise(traced.program, traced.log)
    changes = traced.changes
    used = [
        argument for argument in traced.source.arguments if argument["read"] or argument["written"]
    ]
    best = max(advice.what_if, key=lambda change: change.saved, default=None)
    help_most = max(advice.findings, key=lambda finding: finding.share, default=None)
    passed = None if help_most is None else f"{help_most.title}: {help_most.text}"
    latency = timing["latency_us"]
    return {
        "latency_us": latency,
        "interval_us": list(error.around(latency)),
        "interval_share": COVERAGE,
        "bound": advice.bound,
        "hbm_bytes": counters["hbm_read_bytes"] + counters["hbm_write_bytes"],
        "least_hbm_bytes": sum(argument["bytes"] for argument in used),
        "twice_as_fast_saves": None if best is None else {best.resource: best.saved},
        "best_change": str(changes[0]) if changes else passed,
        "changes": [asdict(change) for change in changes],
    }
