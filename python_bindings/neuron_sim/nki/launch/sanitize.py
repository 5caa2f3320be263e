"""Undefined behaviour of a traced kernel: errors of every kernel, and the sanitizer's."""

import warnings
from typing import Any

from neuron_sim.sanitizer import checking

from ..syntax.places import point_at_line

ALWAYS = frozenset(
    {"carried-dependency", "instance-race", "psum-bank-crossing", "psum-interleaved-groups"}
)
"""Rules that refuse a kernel without the sanitizer too: its bytes depend on the machine."""

_OF_MIDDLE_END = "carried-dependency"
"""Without the compiler's middle end the iterations of an affine_range run in order: CS149's
max-pool variants that depend on it gave the right results on hardware."""

_OF_OLD_COMPILER = "psum-interleaved-groups"
"""The older compiler's [SCH713]. Kernels of the new language alternate between the sums of a bank,
on hardware too: aws-neuron/nki-library, core/attention/attention_bwd.py, at `dq_psum`."""


def wanted() -> bool:
    """Whether kernels are checked."""
    return checking.active() is not None


def findings_of(kernel: Any) -> list:
    """The findings in a TracedKernel's program without data, when the sanitizer is on.

    ValueError for the first finding of a rule of ALWAYS when it is off.
    """
    if not wanted():
        _refuse(kernel)
        return []
    return _made(kernel, kernel.source.findings(len(kernel.inputs), kernel.claims))


def _made(kernel: Any, entries: list) -> list:
    """Findings; for an output, with the line that made it and the one that wrote it last.
    Iterations do not conflict in a tensor of which each has its own, and scratch that the kernel
    does not return need not be complete."""
    carried = ("carried-dependency", "carried-value")
    returned = {kernel.source.arguments[n]["label"] for n in kernel.returned_numbers()}

    def counts(entry: dict) -> bool:
        if entry["rule"] == "unwritten-output":
            return entry["tile"] in returned
        return entry["rule"] not in carried or entry["tile"] not in kernel.private

    entries = [entry for entry in entries if counts(entry)]
    for entry in entries:
        line = kernel.declared.get(entry["tile"], "")
        if entry["rule"] == "unwritten-output" and line:
            entry["source_line"], entry["other_line"] = line, entry["source_line"]
    return checking.made(entries)


def replace_overwrites(findings: list, others: list) -> list:
    """`findings` with the reads of overwritten tiles from another trace of the kernel, `others`,
    which tells the logical tiles of a ring apart."""
    kept = [finding for finding in findings if finding.rule != "overwritten-read"]
    return kept + [other for other in others if other.rule == "overwritten-read"]


def report(findings: list) -> None:
    """Gives findings to the block that is open; SanitizeError where it raises."""
    block = checking.active()
    if block is not None and findings:
        block.add(list(findings))


def report_launches() -> None:
    """Reports the findings of launches on devices."""
    block = checking.active()
    if block is not None:
        block.add(checking.taken())


def run_checked(kernel: Any, arguments: list) -> list[int]:
    """kernel.source.run(arguments) under the open block; returns the run's decisions.

    IndexError where an index that the kernel read is out of range, after its finding.
    """
    block = checking.active()
    assert block is not None
    answer = kernel.source.run_checked(
        arguments,
        inputs=len(kernel.inputs),
        iterations=kernel.claims,
        first_non_finite=block.first_non_finite,
        precision=block.precision,
    )
    findings = _made(kernel, answer["findings"])
    block.add(findings)
    if not answer["completed"]:
        last = next(finding for finding in reversed(findings) if finding.rule == "out-of-bounds")
        error = IndexError(last.message)
        point_at_line(error, last.source_line)
        raise error
    return answer["log"]


def _refuse(kernel: Any) -> None:
    entries = kernel.source.findings(len(kernel.inputs), kernel.claims, errors_only=True)
    for each in _made(kernel, entries):
        if kernel.language == "new" and each.rule == _OF_OLD_COMPILER:
            continue
        if kernel.direct and each.rule == _OF_MIDDLE_END:
            in_order = "it runs in order only because the kernel skips the compiler's middle end."
            warnings.warn(f"{each.message} {each.source_line}: {in_order}", stacklevel=2)
            continue
        if each.rule in ALWAYS and each.severity == "error":
            error = ValueError(each.message)
            point_at_line(error, each.source_line)
            if each.other_line:
                error.add_note("the other access:\n" + checking.line_with_caret(each.other_line))
            raise error
